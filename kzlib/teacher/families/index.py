"""Reads through index tensors, and writes turned round into reads."""

from __future__ import annotations

from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, compare, const, where
from kzlib.teacher.families.args import arguments
from kzlib.teacher.families.layout import gathered
from kzlib.teacher.families.matmul import zero
from kzlib.teacher.graph import Node, Unsupported
from kzlib.teacher.kernel import Space
from kzlib.teacher.plan import INDEX_NAMES, Lazy, Plan

Shape = tuple[Expr, ...]


def embedding(plan: Plan, node: Node) -> Lazy:
    names = ("input", "weight", "padding_idx", "max_norm")
    index, weight, _, max_norm = arguments(node, *names)
    if max_norm is not None:
        raise Unsupported("embedding with max_norm")
    ids, table = plan.map(index), plan.map(weight)
    shape = (*ids.shape, table.shape[1])
    return Lazy(
        shape,
        table.dtype,
        lambda c: table.value((e.named(ids.value(c[:-1]), "row_id"), c[-1])),
        ops=(*ids.ops, *table.ops),
    )


def gather(plan: Plan, node: Node) -> Lazy:
    source, dim, index = arguments(node, "input", "dim", "index")
    x, ids = plan.map(source), plan.map(index)
    axis = dim % len(x.shape)
    return Lazy(
        ids.shape, x.dtype, lambda c: x.value((*c[:axis], ids.value(c), *c[axis + 1 :])), ops=(*x.ops, *ids.ops)
    )


def index_select(plan: Plan, node: Node) -> Lazy:
    source, dim, index = arguments(node, "input", "dim", "index")
    x = plan.map(source)
    return gathered(x, dim % len(x.shape), plan.map(index))


def take_along_dim(plan: Plan, node: Node) -> Lazy:
    source, index, dim = arguments(node, "input", "indices", "dim")
    if dim is None:
        raise Unsupported("take_along_dim without an axis")
    return gather(plan, Node("gather", (source, dim, index), {}, node.outs))


def take(plan: Plan, node: Node) -> Lazy:
    from kzlib.teacher.families.layout import reshaped

    source, index = arguments(node, "input", "index")
    x = plan.settle(source)
    total = 1
    for s in x.sizes:
        total *= s
    return gathered(reshaped(plan, x, (total,)), 0, plan.map(index))


def one_hot(plan: Plan, node: Node) -> Lazy:
    ids = plan.map(node.args[0])
    classes = plan.info(node).shape[-1]
    shape = (*ids.shape, const(classes))
    return Lazy(
        shape, "i64", lambda c: e.named(where(compare("eq", ids.value(c[:-1]), c[-1]), 1, 0), "one_hot"), ops=ids.ops
    )


def bucketize(plan: Plan, node: Node) -> Lazy:
    """How many boundaries lie below (or at, with right=True) each value."""
    if node.op == "searchsorted":
        bounds, source = plan.map(node.args[0]), plan.map(node.args[1])
        if len(bounds.shape) != 1:
            raise Unsupported("searchsorted in many rows")
    else:
        source, bounds = plan.map(node.args[0]), plan.map(node.args[1])
    right = bool(node.kwargs.get("right", False)) or node.kwargs.get("side") == "right"
    k = e.var("k", bounds.shape[0])

    def at(c: Shape) -> Expr:
        below = compare("le" if right else "lt", bounds.value((k,)), source.value(c))
        return e.reduce("add", (k,), where(below, 1, 0))

    return counted(source, source.shape, "i64", at)


def counted(source: Lazy, shape: Shape, dtype: str, at: Any) -> Lazy:
    names = INDEX_NAMES.get(len(shape), tuple(f"d{i}" for i in range(len(shape))))
    order = tuple(e.var(n, s) for n, s in zip(names, shape, strict=True))
    return Lazy(shape, dtype, at, "loop", Space(outer=order, coords=tuple(zero(v) for v in order)), ops=source.ops)


def index_add(plan: Plan, node: Node) -> Lazy:
    """x with rows of `source` added at `index`: every output row sums the sources that point to it."""
    x, dim, index, source, alpha = arguments(node, "input", "dim", "index", "source", "alpha", alpha=1)
    base, ids, add = plan.map(x), plan.map(index), plan.map(source)
    axis = dim % len(base.shape)
    k = e.var("k", ids.shape[0])

    def at(c: Shape) -> Expr:
        hit = compare("eq", ids.value((k,)), c[axis])
        total = e.reduce("add", (k,), where(hit, add.value((*c[:axis], k, *c[axis + 1 :])), 0.0))
        return e.named(base.value(c) + (total if alpha == 1 else total * float(alpha)), "index_add")

    return counted(base, base.shape, base.dtype, at)


def scatter_add(plan: Plan, node: Node) -> Lazy:
    x, dim, index, source = arguments(node, "input", "dim", "index", "src")
    base, ids, add = plan.map(x), plan.map(index), plan.map(source)
    axis = dim % len(base.shape)
    if any(ids.sizes[k] != base.sizes[k] for k in range(len(base.shape)) if k != axis):
        raise Unsupported("scatter_add of a part of the rows")
    k = e.var("k", ids.shape[axis])

    def at(c: Shape) -> Expr:
        spot = (*c[:axis], k, *c[axis + 1 :])
        hit = compare("eq", ids.value(spot), c[axis])
        return e.named(base.value(c) + e.reduce("add", (k,), where(hit, add.value(spot), 0.0)), "scatter_add")

    return counted(base, base.shape, base.dtype, at)


def ranked(source: Lazy, axis: int, descending: bool) -> Any:
    """The element of rank r along an axis: the one with exactly r elements before it (ties by position)."""
    n = source.shape[axis]
    i, j = e.var("i0", n), e.var("j0", n)

    def before(c: Shape) -> Expr:
        a = source.value((*c[:axis], j, *c[axis + 1 :]))
        b = source.value((*c[:axis], i, *c[axis + 1 :]))
        first = compare("gt" if descending else "lt", a, b)
        tie = e.both(compare("eq", a, b), compare("lt", j, i))
        return e.reduce("add", (j,), where(Expr("or", (first, tie), dtype="bool"), 1, 0))

    def value(c: Shape, rank: Expr) -> Expr:
        hit = compare("eq", before(c), rank)
        return e.reduce("add", (i,), where(hit, source.value((*c[:axis], i, *c[axis + 1 :])), 0.0))

    def position(c: Shape, rank: Expr) -> Expr:
        return e.reduce("add", (i,), where(compare("eq", before(c), rank), i, 0))

    return value, position


def sort(plan: Plan, node: Node) -> Any:
    if node.op == "topk":
        x, k, dim, largest = arguments(node, "input", "k", "dim", "largest", dim=-1, largest=True)
        descending = bool(largest)
    else:
        x, dim, descending = arguments(node, "input", "dim", "descending", dim=-1, descending=False)
        k = None
    if node.op in ("msort",):
        dim = 0
    source = plan.settle(x)
    axis = dim % len(source.shape)
    if source.sizes[axis] > 128:
        raise Unsupported("a sort of more than 128 elements")
    shape = (
        *source.shape[:axis],
        source.shape[axis] if k is None or k == source.sizes[axis] else const(k),
        *source.shape[axis + 1 :],
    )
    value, position = ranked(source, axis, bool(descending))
    values = counted(source, shape, source.dtype, lambda c: value(c, c[axis]))
    places = counted(source, shape, "i64", lambda c: position(c, c[axis]))
    if node.op in ("argsort",):
        return places
    return values if len(node.outs) == 1 else (values, places)


def order_statistic(plan: Plan, node: Node) -> Any:
    from kzlib.teacher.families.layout import reshaped

    if node.op == "kthvalue":
        x, k, dim, keepdim = arguments(node, "input", "k", "dim", "keepdim", dim=-1, keepdim=False)
    else:
        x, dim, keepdim = arguments(node, "input", "dim", "keepdim", keepdim=False)
        k = None
    source = plan.settle(x)
    if dim is None:
        total = 1
        for s in source.sizes:
            total *= s
        source, dim = reshaped(plan, source, (total,)), 0
    axis = dim % len(source.shape)
    size = source.sizes[axis]
    if size > 128:
        raise Unsupported("an order statistic of more than 128 elements")
    rank = const((size - 1) // 2 if k is None else k - 1)
    value, position = ranked(source, axis, False)
    shape = (*source.shape[:axis], *((const(1),) if keepdim else ()), *source.shape[axis + 1 :])

    def full(c: Shape) -> Shape:
        return (*c[:axis], const(0), *(c[axis + 1 :] if keepdim else c[axis:]))

    values = counted(source, shape, source.dtype, lambda c: value(full(c), rank))
    if len(node.outs) == 1:
        return values
    return values, counted(source, shape, "i64", lambda c: position(full(c), rank))


TABLE: dict[str, Any] = {
    "embedding": embedding,
    "gather": gather,
    "index_select": index_select,
    "take_along_dim": take_along_dim,
    "take": take,
    "one_hot": one_hot,
    "bucketize": bucketize,
    "searchsorted": bucketize,
    "index_add": index_add,
    "scatter_add": scatter_add,
    **dict.fromkeys(("sort", "topk", "argsort", "msort"), sort),
    **dict.fromkeys(("median", "kthvalue"), order_statistic),
}
