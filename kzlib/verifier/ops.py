"""Which library operators ran, and how much they moved: the same record for a reference and for a candidate.

`OpLog` is a dispatch mode: it sees every aten operator below Python, whatever name it was called by. `kind_of` sorts
operators by the table in `op_kinds.json`. Source: issue 3, item 2; systems.md 2.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operators that stand for the same mathematics under several names, as a reference and a candidate may differ in these.
FAMILY = {
    "_softmax": "softmax", "_log_softmax": "log_softmax", "native_layer_norm": "layer_norm",
    "cudnn_batch_norm": "batch_norm",
    "native_batch_norm": "batch_norm", "_native_batch_norm_legit": "batch_norm", "native_group_norm": "group_norm",
    "_native_batch_norm_legit_no_training": "batch_norm", "_native_batch_norm_legit_functional": "batch_norm",
    "addmm": "mm", "bmm": "mm", "baddbmm": "mm", "matmul": "mm", "mv": "mm", "dot": "mm", "linear": "mm", "addmv": "mm",
    "mkldnn_linear": "mm", "einsum": "mm", "_convolution": "convolution", "conv2d": "convolution", "addbmm": "mm",
    "conv1d": "convolution", "conv3d": "convolution", "mkldnn_convolution": "convolution", "relu_": "relu",
    "add_": "add", "sub_": "sub", "mul_": "mul", "div_": "div", "clamp_": "clamp", "sigmoid_": "sigmoid",
    "tanh_": "tanh", "exp_": "exp",
    "_scaled_dot_product_flash_attention_for_cpu": "attention", "scaled_dot_product_attention": "attention",
    "_scaled_dot_product_attention_math": "attention", "_scaled_dot_product_efficient_attention": "attention",
}  # fmt: skip


@cache
def _table() -> dict[str, str]:
    rows = json.loads(Path(__file__).with_name("op_kinds.json").read_text())
    return {name: kind for kind, names in rows.items() if kind != "source" for name in names}


def kind_of(name: str) -> str:
    """metadata, layout, creation, copy or compute.

    >>> kind_of("view"), kind_of("addmm")
    ('layout', 'compute')
    """
    return _table().get(name, "compute")


def families(ops: Iterable[dict[str, Any]]) -> set[str]:
    """The mathematics in a list of logged operators, under one name each.

    >>> sorted(families([{"op": "addmm"}, {"op": "view"}, {"op": "relu_"}]))
    ['mm', 'relu']
    """
    return {FAMILY.get(row["op"], row["op"]) for row in ops if kind_of(row["op"]) == "compute"}


def _bytes(values: Any, seen: list[torch.Tensor]) -> int:
    total = 0
    for value in values if isinstance(values, list | tuple) else (values,):
        if isinstance(value, torch.Tensor):
            total += value.numel() * value.element_size()
            seen.append(value)
        elif isinstance(value, list | tuple):
            total += _bytes(value, seen)
    return total


def crossing(name: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> dict[str, int]:
    """Elements that an operator moved between the host and a device, by direction; nothing where it moved none.

    >>> x = torch.ones(5)
    >>> crossing("_to_copy", [x], [x.to("meta")]), crossing("copy_", [x, x], [x])
    ({'to_device': 5}, {})
    """
    if name == "_local_scalar_dense" and inputs and inputs[0].device.type != "cpu":
        return {"to_host": 1}
    if kind_of(name) != "copy" or not inputs or not outputs:
        return {}
    there, here = inputs[-1].device.type == "cpu", outputs[0].device.type == "cpu"
    return {} if there == here else {"to_host" if here else "to_device": outputs[0].numel()}


class OpLog(TorchDispatchMode):
    """While active, appends one row an operator: {"op", "read", "written", "flops"} in bytes and operations."""

    def __init__(self, recorder: Any = None) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.recorder = recorder

    def log(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operator and note it."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = func._schema.name.split("::")[-1]
        if self.recorder is not None and self.recorder.current is not None and kind_of(name) != "compute":
            return result  # the interpreter's own copying of arguments
        inputs: list[torch.Tensor] = []
        outputs: list[torch.Tensor] = []
        read = _bytes(args, inputs) + _bytes(list(kwargs.values()), inputs)
        written = _bytes(result, outputs)
        row = {"op": name, "read": read, "written": written, "flops": _flops(name, inputs, outputs)}
        self.rows.append({**row, **crossing(name, inputs, outputs)})
        if self.recorder is not None:
            for tensor in (*inputs, *outputs):
                if tensor.layout is torch.strided:
                    storage = tensor.untyped_storage()
                    self.recorder.storages[storage.data_ptr()] = storage.nbytes()
        return result


# Set after the class is made: torch wraps a `__torch_dispatch__` found in the class body, and the wrapper imports
# torch._dynamo (3 s) at its first call.
OpLog.__torch_dispatch__ = OpLog.log  # type: ignore[method-assign, assignment]


def _flops(name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    """Multiply-adds times two for products and convolutions; one a written element for all else that computes."""
    if kind_of(name) != "compute" or not outputs:
        return 0
    family = FAMILY.get(name, name)
    out = outputs[0].numel()
    if family == "mm" and len(inputs) >= 2 and inputs[-2].dim():
        return 2 * out * inputs[-2].shape[-1]
    if family == "convolution" and len(inputs) >= 2 and inputs[1].shape:
        return 2 * out * max(1, inputs[1].numel() // max(1, inputs[1].shape[0]))
    return out
