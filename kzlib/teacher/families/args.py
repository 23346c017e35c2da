"""Bind a recorded call to a Python signature, the way Torch would."""

from __future__ import annotations

from typing import Any


def arguments(node: Any, *names: str, **defaults: Any) -> list[Any]:
    """Values in the order of `names`; what the call does not give comes from `defaults` (None if absent).

    >>> from kzlib.teacher.graph import Node
    >>> arguments(Node("sum", (1,), {"dim": 2}, ()), "input", "dim", "keepdim", keepdim=False)
    [1, 2, False]
    """
    values = dict(zip(names, node.args, strict=False))
    values.update({k: v for k, v in node.kwargs.items() if k in names})
    for alias, name in (("axis", "dim"), ("self", "input")):
        if alias in node.kwargs and name in names:
            values[name] = node.kwargs[alias]
    return [values.get(n, defaults.get(n)) for n in names]


def dims(dim: Any, rank: int) -> tuple[int, ...]:
    """Axes as non-negative numbers; None means all of them."""
    if dim is None or dim == ():
        return tuple(range(rank))
    if isinstance(dim, int):
        dim = (dim,)
    return tuple(sorted(d % rank if rank else 0 for d in dim))


def pair(value: Any, n: int) -> tuple[int, ...]:
    """An int for every spatial axis, or a tuple as given."""
    if isinstance(value, int):
        return (value,) * n
    value = tuple(int(v) for v in value)
    return value * n if len(value) == 1 else value
