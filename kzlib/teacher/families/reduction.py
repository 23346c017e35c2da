"""Sums, means, extremes, norms and their positions over any axes."""

from __future__ import annotations

import math
from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, call, const, numel, product, value_of, where
from kzlib.teacher.families.args import arguments, dims
from kzlib.teacher.graph import Node, Scalar, Unsupported
from kzlib.teacher.kernel import Space
from kzlib.teacher.ops import absolute, power, truth
from kzlib.teacher.plan import INDEX_NAMES, Lazy, Plan

Shape = tuple[Expr, ...]


class Axes:
    """Which axes of a tensor are reduced, and the index arithmetic that follows."""

    def __init__(self, source: Lazy, axes: tuple[int, ...], keepdim: bool):
        self.source, self.axes, self.keepdim = source, axes, keepdim
        rank = len(source.shape)
        names = INDEX_NAMES.get(rank, tuple(f"d{i}" for i in range(rank)))
        self.inner = tuple(e.var(f"r{names[a]}" if rank > 1 else "ri", source.shape[a]) for a in axes)
        if keepdim:
            self.shape = tuple(const(1) if k in axes else s for k, s in enumerate(source.shape))
        else:
            self.shape = tuple(s for k, s in enumerate(source.shape) if k not in axes)
        self.count = product([source.shape[a] for a in axes])
        outer_names = [n for k, n in enumerate(names) if k not in axes]
        kept = [s for k, s in enumerate(source.shape) if k not in axes]
        self.outer = tuple(e.var(n, s) for n, s in zip(outer_names, kept, strict=True))

    def at(self, c: Shape, inner: Shape) -> Expr:
        """The source's element at output index `c` and reduced index `inner`."""
        kept = iter([i for k, i in enumerate(c) if k not in self.axes] if self.keepdim else c)
        given = iter(inner)
        return self.source.value(
            tuple(next(given) if k in self.axes else next(kept) for k in range(len(self.source.shape)))
        )

    def reduce(self, kind: str, c: Shape, change: Any = None) -> Expr:
        body = self.at(c, self.inner)
        return e.reduce(kind, self.inner, change(body) if change else body)

    def space(self) -> Space:
        kept = iter(v if value_of(v.attr[1]) != 1 else const(0) for v in self.outer)
        if self.keepdim:
            coords = tuple(const(0) if k in self.axes else next(kept) for k in range(len(self.source.shape)))
        else:
            coords = tuple(kept)
        return Space(outer=self.outer, coords=coords)

    def lazy(self, at: Any, dtype: str) -> Lazy:
        serial = max(self.axes, default=0) < len(self.source.shape) - 1
        small = value_of(self.count) <= min(64, numel(self.shape))
        kind = "loop" if serial and small and self.axes else "reduce"
        return Lazy(self.shape, dtype, at, kind, self.space(), ops=self.source.ops)


def prepare(plan: Plan, node: Node, dim: Any, keepdim: Any) -> Axes:
    source = plan.map(node.args[0] if node.args else node.kwargs["input"])
    return Axes(source, dims(dim, len(source.shape)), bool(keepdim))


def is_float(dtype: str) -> bool:
    return dtype in ("f32", "f16", "bf16")


def simple(kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
        axes = prepare(plan, node, dim, keepdim)
        dtype = axes.source.dtype
        cast = (lambda v: e.as_int(v, "i64")) if dtype == "bool" else None
        return axes.lazy(lambda c: axes.reduce(kind, c, cast), "i64" if dtype == "bool" else dtype)

    return lower


def mean(plan: Plan, node: Node) -> Lazy:
    _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
    axes = prepare(plan, node, dim, keepdim)
    return axes.lazy(lambda c: e.named(axes.reduce("add", c) / e.as_float(axes.count), "=mean"), axes.source.dtype)


def extreme(kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Any:
        _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
        if hasattr(dim, "id"):
            raise Unsupported("the two-tensor form of max is recorded as maximum")
        axes = prepare(plan, node, dim, keepdim)
        value = axes.lazy(lambda c: axes.reduce(kind, c), axes.source.dtype)
        if len(node.outs) == 1:
            return value
        index = axes.lazy(lambda c: axes.reduce(f"arg{kind}", c), "i64")
        return value, index

    return lower


def arg_extreme(kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
        axes = prepare(plan, node, dim, keepdim)
        return axes.lazy(lambda c: axes.reduce(kind, c, e.as_float), "i64")

    return lower


def truth_of(kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
        axes = prepare(plan, node, dim, keepdim)

        def at(c: Shape) -> Expr:
            return e.compare("gt", axes.reduce(kind, c, lambda v: where(truth(v), 1, 0)), 0)

        return axes.lazy(at, "bool")

    return lower


def count_nonzero(plan: Plan, node: Node) -> Lazy:
    _, dim = arguments(node, "input", "dim")
    axes = prepare(plan, node, dim, False)
    return axes.lazy(lambda c: axes.reduce("add", c, lambda v: where(truth(v), 1, 0)), "i64")


def variance_parts(axes: Axes, correction: float) -> tuple[Any, Any]:
    def mean_at(c: Shape) -> Expr:
        return e.named(axes.reduce("add", c) / e.as_float(axes.count), "=mean")

    def var_at(c: Shape) -> Expr:
        m = mean_at(c)

        def square(v: Expr) -> Expr:
            d = e.named(v - m, "=d")
            return d * d

        total = axes.reduce("add", c, square)
        below = e.as_float(axes.count) if correction == 0 else e.as_float(axes.count - int(correction))
        return e.named(total / below, "=var")

    return mean_at, var_at


def _correction(node: Node) -> tuple[Any, float, bool]:
    _, dim, correction, keepdim = arguments(node, "input", "dim", "unbiased", "keepdim", keepdim=False)
    if isinstance(dim, bool):
        dim, correction = None, dim
    if "correction" in node.kwargs:
        correction = node.kwargs["correction"]
    return dim, 1.0 if correction is None else float(correction), bool(keepdim)


def var(plan: Plan, node: Node) -> Any:
    dim, correction, keepdim = _correction(node)
    axes = prepare(plan, node, dim, keepdim)
    mean_at, var_at = variance_parts(axes, correction)
    if node.op == "var":
        return as_reduce(axes.lazy(var_at, axes.source.dtype))
    root = (lambda c: call("sqrt", var_at(c))) if node.op.startswith("std") else var_at
    return as_reduce(axes.lazy(root, axes.source.dtype)), axes.lazy(mean_at, axes.source.dtype)


def as_reduce(lazy: Lazy) -> Lazy:
    lazy.kind = "reduce"
    return lazy


def norm(plan: Plan, node: Node) -> Lazy:
    if node.op == "linalg_vector_norm":
        _, p, dim, keepdim = arguments(node, "input", "ord", "dim", "keepdim", ord=2, keepdim=False)
    else:
        _, p, dim, keepdim = arguments(node, "input", "p", "dim", "keepdim", p="fro", keepdim=False)
        if node.op == "linalg_norm":
            p = arguments(node, "input", "ord")[1]
            if (
                p is not None
                and (dim is None or isinstance(dim, tuple))
                and len(plan.get(node.args[0]).shape) == 2
                and p != "fro"
            ):
                raise Unsupported("a matrix norm other than Frobenius")
        if node.op == "linalg_matrix_norm":
            p = arguments(node, "input", "ord", ord="fro")[1]
            dim = arguments(node, "input", "ord", "dim", "keepdim", dim=(-2, -1))[2]
            if p != "fro":
                raise Unsupported("a matrix norm other than Frobenius")
    p = 2 if p in ("fro", None) else p
    p = p.value if isinstance(p, Scalar) else p
    return p_norm(prepare(plan, node, dim, keepdim), p)


def p_norm(axes: Axes, p: float) -> Lazy:
    dtype = axes.source.dtype
    if p == math.inf:
        return axes.lazy(lambda c: axes.reduce("max", c, absolute), dtype)
    if p == -math.inf:
        return axes.lazy(lambda c: axes.reduce("min", c, absolute), dtype)
    if p == 0:
        return axes.lazy(lambda c: axes.reduce("add", c, lambda v: where(e.compare("ne", v, 0.0), 1.0, 0.0)), dtype)
    if p == 1:
        return axes.lazy(lambda c: axes.reduce("add", c, absolute), dtype)
    if p == 2:
        return axes.lazy(lambda c: e.named(call("sqrt", axes.reduce("add", c, lambda v: v * v)), "=norm"), dtype)
    return axes.lazy(
        lambda c: e.named(power(axes.reduce("add", c, lambda v: power(absolute(v), p)), 1.0 / p), "=norm"), dtype
    )


def dist(plan: Plan, node: Node) -> Lazy:
    a, b, p = arguments(node, "input", "other", "p", p=2)
    x, y = plan.map(a), plan.map(b)
    if x.sizes != y.sizes:
        raise Unsupported("dist of tensors of different shapes")
    d = Lazy(x.shape, x.dtype, lambda c: e.named(x.value(c) - y.value(c), "=d"), ops=x.ops)
    return p_norm(Axes(d, tuple(range(len(d.shape))), False), p)


def trace(plan: Plan, node: Node) -> Lazy:
    from kzlib.teacher.families.layout import diagonal_of

    axes = Axes(diagonal_of(plan.map(node.args[0]), 0, 0, 1), (0,), False)
    return axes.lazy(lambda c: axes.reduce("add", c), axes.source.dtype)


def aminmax(plan: Plan, node: Node) -> tuple[Lazy, Lazy]:
    dim, keepdim = node.kwargs.get("dim"), node.kwargs.get("keepdim", False)
    axes = prepare(plan, node, dim, keepdim)
    return tuple(axes.lazy(lambda c, k=k: axes.reduce(k, c), axes.source.dtype) for k in ("min", "max"))  # type: ignore[return-value]


def nan_aware(kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        _, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
        axes = prepare(plan, node, dim, keepdim)
        total = lambda c: axes.reduce("add", c, lambda v: where(e.compare("eq", v, v), v, 0.0))  # noqa: E731
        if kind == "sum":
            return axes.lazy(total, axes.source.dtype)
        seen = lambda c: axes.reduce("add", c, lambda v: where(e.compare("eq", v, v), 1.0, 0.0))  # noqa: E731
        return as_reduce(axes.lazy(lambda c: e.named(total(c) / seen(c), "=mean"), axes.source.dtype))

    return lower


TABLE: dict[str, Any] = {
    "sum": simple("add"),
    "prod": simple("mul"),
    "mean": mean,
    "max": extreme("max"),
    "min": extreme("min"),
    "amax": simple("max"),
    "amin": simple("min"),
    "argmax": arg_extreme("argmax"),
    "argmin": arg_extreme("argmin"),
    "any": truth_of("max"),
    "all": truth_of("min"),
    "count_nonzero": count_nonzero,
    **dict.fromkeys(("var", "var_mean", "std_mean"), var),
    **dict.fromkeys(("norm", "linalg_vector_norm", "linalg_norm", "linalg_matrix_norm"), norm),
    "dist": dist,
    "trace": trace,
    "aminmax": aminmax,
    "nansum": nan_aware("sum"),
    "nanmean": nan_aware("mean"),
}
