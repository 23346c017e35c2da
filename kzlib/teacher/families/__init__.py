"""Operator name -> lowering. Each module holds one family; a lowering takes the plan and the call, gives lazy
tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kzlib.teacher.families import conv, index, layout, matmul, norm, pooling, reduction, resample, scan, softmax

Lowering = Callable[..., Any]

FAMILIES: dict[str, Lowering] = {
    **layout.TABLE,
    **reduction.TABLE,
    **softmax.TABLE,
    **norm.TABLE,
    **matmul.TABLE,
    **conv.TABLE,
    **pooling.TABLE,
    **scan.TABLE,
    **index.TABLE,
    **resample.TABLE,
}


def _unfold(plan: Any, node: Any) -> Any:
    """`F.unfold` (patches of an image) and `Tensor.unfold` (windows of an axis) share a name."""
    return resample.unfold(plan, node) if "dilation" in node.kwargs else layout.window(plan, node)


FAMILIES["unfold"] = _unfold
