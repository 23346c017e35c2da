"""Softmax and its relatives: a row's maximum, the sum of exponentials, then the row."""

from __future__ import annotations

from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, call, const, maximum, value_of
from kzlib.teacher.families.args import arguments
from kzlib.teacher.families.reduction import Axes
from kzlib.teacher.graph import Node, Unsupported
from kzlib.teacher.kernel import Space
from kzlib.teacher.plan import INDEX_NAMES, Lazy, Plan

Shape = tuple[Expr, ...]


def row_space(source: Lazy, axes: tuple[int, ...]) -> Space:
    """One program per index outside `axes`; the axes are the row."""
    rank = len(source.shape)
    names = INDEX_NAMES.get(rank, tuple(f"d{i}" for i in range(rank)))
    every = [e.var(n, s) for n, s in zip(names, source.shape, strict=True)]
    coords = tuple(v if value_of(v.attr[1]) != 1 else const(0) for v in every)
    return Space(
        outer=tuple(v for k, v in enumerate(every) if k not in axes), row=tuple(every[a] for a in axes), coords=coords
    )


def dim_of(node: Node, source: Lazy) -> int:
    dim = arguments(node, "input", "dim")[1]
    if dim is None:
        dim = 0 if len(source.shape) in (0, 1, 3) else 1
    if not isinstance(dim, int):
        raise Unsupported("softmax over several axes")
    return dim % len(source.shape)


def softmax(kind: str, negate: bool = False) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        source = plan.map(node.args[0])
        axis = dim_of(node, source)
        axes = Axes(source, (axis,), True)
        sign = (lambda v: -v) if negate else (lambda v: v)

        def at(c: Shape) -> Expr:
            top = e.named(axes.reduce("max", c, sign), "=m")
            total = e.named(axes.reduce("add", c, lambda v: e.named(call("exp", sign(v) - top), "e")), "=total")
            x = sign(source.value(c))
            if kind == "log_softmax":
                return e.named(x - top - call("log", total), kind)
            return e.named(e.named(call("exp", x - top), "e") / total, "softmax")

        return Lazy(source.shape, source.dtype, at, "row", row_space(source, (axis,)), ops=source.ops)

    return lower


def logsumexp(plan: Plan, node: Node) -> Lazy:
    _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
    source = plan.map(node.args[0])
    from kzlib.teacher.families.args import dims

    axes = Axes(source, dims(dim, len(source.shape)), bool(keepdim))

    def at(c: Shape) -> Expr:
        top = e.named(axes.reduce("max", c), "=m")
        total = axes.reduce("add", c, lambda v: e.named(call("exp", v - top), "e"))
        return e.named(call("log", total) + top, "logsumexp")

    lazy = axes.lazy(at, source.dtype)
    lazy.kind = "reduce"
    return lazy


def normalize(plan: Plan, node: Node) -> Lazy:
    """F.normalize: a row divided by its p-norm."""
    _, p, dim, eps = arguments(node, "input", "p", "dim", "eps", p=2.0, dim=1, eps=1e-12)
    source = plan.map(node.args[0])
    if p not in (1, 2) or not isinstance(dim, int):
        raise Unsupported("normalize with this p or several axes")
    axis = dim % len(source.shape)
    axes = Axes(source, (axis,), True)

    def at(c: Shape) -> Expr:
        total = axes.reduce("add", c, (lambda v: v * v) if p == 2 else lambda v: call("abs", v))
        size = e.named(call("sqrt", total) if p == 2 else total, "=norm")
        return e.named(source.value(c) / maximum(size, float(eps)), "normalize")

    return Lazy(source.shape, source.dtype, at, "row", row_space(source, (axis,)), ops=source.ops)


TABLE: dict[str, Any] = {
    "softmax": softmax("softmax"),
    "log_softmax": softmax("log_softmax"),
    "softmin": softmax("softmax", negate=True),
    "logsumexp": logsumexp,
    "normalize": normalize,
}
