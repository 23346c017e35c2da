"""Products: linear, matmul with broadcasting batches, einsum; a tile a program, or a sum a row where one side is a
vector."""

from __future__ import annotations

from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, const, value_of
from kzlib.teacher.families.args import arguments
from kzlib.teacher.graph import Node, Unsupported
from kzlib.teacher.kernel import Space
from kzlib.teacher.plan import Lazy, Plan, align, broadcast_shape

Shape = tuple[Expr, ...]


def zero(v: Expr) -> Expr:
    return const(0) if value_of(v.attr[1]) == 1 else v


def tiled(
    shape: Shape, dtype: str, at: Any, batch: Shape, m: Shape, n: Shape, order: Shape, ops: tuple[str, ...]
) -> Lazy:
    space = Space(outer=order, batch=batch, m=m, n=n, coords=tuple(zero(v) for v in order))
    return Lazy(shape, dtype, at, "dot", space, ops=ops)


def linear(plan: Plan, node: Node) -> Lazy:
    x, weight, bias = arguments(node, "input", "weight", "bias")
    a, w = plan.layout(x), plan.layout(weight)
    b = None if bias is None else plan.map(bias)
    k = e.var("k0", a.shape[-1])
    shape = (*a.shape[:-1], w.shape[0])

    def at(c: Shape) -> Expr:
        out = Expr("dot", (a.value((*c[:-1], zero(k))), w.value((c[-1], zero(k)))), ("add", k))
        return e.named(out + b.value((c[-1],)), "linear") if b is not None else e.named(out, "")

    names = ("b", "t", "u", "v")[: len(shape) - 1]
    rows = tuple(e.var(nm, s) for nm, s in zip(names, shape[:-1], strict=True))
    col = e.var("o", shape[-1])
    return tiled(shape, a.dtype, at, (), rows, (col,), (*rows, col), a.ops)


def matmul(plan: Plan, node: Node) -> Lazy:
    a, b = plan.layout(node.args[0]), plan.layout(node.args[1] if len(node.args) > 1 else node.kwargs["other"])
    return product_of(plan, node, a, b)


def product_of(plan: Plan, node: Node, a: Lazy, b: Lazy) -> Lazy:
    info = plan.info(node)
    if len(a.shape) == 1 or len(b.shape) == 1:
        return vector_product(a, b, info.shape)
    k = e.var("k0", a.shape[-1])
    lead = broadcast_shape([_head(a), _head(b)], info.shape[:-2], None)
    shape = (*lead, a.shape[-2], b.shape[-1])

    def at(c: Shape) -> Expr:
        left = a.value((*align(_head(a), c[:-2]), c[-2], zero(k)))
        right = b.value((*align(_head(b), c[:-2]), zero(k), c[-1]))
        return Expr("dot", (left, right), ("add", k))

    row, col = e.var("i0", a.shape[-2]), e.var("j0", b.shape[-1])
    batch = tuple(e.var(f"b{i}" if i else "b", s) for i, s in enumerate(lead))
    ops = tuple(dict.fromkeys((*a.ops, *b.ops)))
    if all(s == 1 for s in b.sizes[:-2]):  # one right-hand side: the batch is more rows
        return tiled(shape, a.dtype, at, (), (*batch, row), (col,), (*batch, row, col), ops)
    return tiled(shape, a.dtype, at, batch, (row,), (col,), (*batch, row, col), ops)


def _head(lazy: Lazy) -> Lazy:
    return Lazy(lazy.shape[:-2], lazy.dtype, lazy.at)


def vector_product(a: Lazy, b: Lazy, sizes: tuple[int, ...]) -> Lazy:
    """A matrix or batch times a vector: one row sum an element."""
    k = e.var("rk", a.shape[-1])
    left = a.shape[:-1]
    right = () if len(b.shape) == 1 else (*b.shape[:-2], b.shape[-1])
    shape = right if len(a.shape) == 1 and len(b.shape) > 1 else left

    def at(c: Shape) -> Expr:
        body = a.value((*c, k)) * b.value((k,)) if len(b.shape) == 1 else a.value((k,)) * b.value((*c[:-1], k, c[-1]))
        return e.reduce("add", (k,), body)

    names = ("b", "t", "u", "v")
    outer = tuple(e.var(names[i], s) for i, s in enumerate(shape))
    space = Space(outer=outer, coords=tuple(zero(v) for v in outer))
    return Lazy(shape, a.dtype, at, "reduce", space, ops=tuple(dict.fromkeys((*a.ops, *b.ops))))


def einsum(plan: Plan, node: Node) -> Lazy:
    equation, *rest = node.args
    operands = list(rest[0]) if len(rest) == 1 and isinstance(rest[0], tuple) else rest
    equation = equation.replace(" ", "")
    if "." in equation:
        raise Unsupported("einsum with an ellipsis")
    left, _, right = equation.partition("->")
    terms = left.split(",")
    if "->" not in equation:
        letters = "".join(terms)
        right = "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    lazies = [plan.layout(o) for o in operands]
    size: dict[str, Expr] = {}
    for term, lazy in zip(terms, lazies, strict=True):
        for letter, s in zip(term, lazy.shape, strict=True):
            size.setdefault(letter, s)
    summed = [c for c in dict.fromkeys("".join(terms)) if c not in right]
    shape = tuple(size[c] for c in right)
    inner = tuple(e.var(f"r{c}", size[c]) for c in summed)
    tile = len(lazies) == 2 and len(summed) > 0 and all(c in terms[0] and c in terms[1] for c in summed)
    only = [[c for c in right if c in terms[i] and c not in terms[1 - i]] for i in (0, 1)] if tile else [[], []]
    tile = tile and bool(only[0]) and bool(only[1])

    def at(c: Shape) -> Expr:
        table = {**dict(zip(right, c, strict=True)), **{k: zero(v) for k, v in zip(summed, inner, strict=True)}}
        values = [lazy.value(tuple(table[k] for k in term)) for term, lazy in zip(terms, lazies, strict=True)]
        if tile:
            return Expr("dot", tuple(values), ("add", *inner))
        body = values[0]
        for v in values[1:]:
            body = body * v
        return e.reduce("add", inner, body) if inner else e.named(body, "einsum")

    order = {c: e.var(c, size[c]) for c in right}
    ops = tuple(dict.fromkeys(o for lazy in lazies for o in lazy.ops))
    if tile:
        batch = tuple(order[c] for c in right if c in terms[0] and c in terms[1])
        m, n = (tuple(order[c] for c in part) for part in only)
        return tiled(shape, lazies[0].dtype, at, batch, m, n, tuple(order.values()), ops)
    outer = tuple(order.values())
    space = Space(outer=outer, coords=tuple(zero(v) for v in outer))
    return Lazy(shape, lazies[0].dtype, at, "reduce" if inner else "map", space if inner else None, ops=ops)


def tensordot(plan: Plan, node: Node) -> Lazy:
    a, b, over = arguments(node, "a", "b", "dims", dims=2)
    x, y = plan.layout(a), plan.layout(b)
    if isinstance(over, int):
        left, right = list(range(len(x.shape) - over, len(x.shape))), list(range(over))
    else:
        left, right = ([d % len(t.shape) for d in part] for part, t in zip(over, (x, y), strict=True))
    letters = "abcdefghijklmnopqrstuvwxyz"
    one = list(letters[: len(x.shape)])
    two = list(letters[len(x.shape) : len(x.shape) + len(y.shape)])
    for i, j in zip(left, right, strict=True):
        two[j] = one[i]
    out = [c for i, c in enumerate(one) if i not in left] + [c for j, c in enumerate(two) if j not in right]
    call = Node("einsum", (f"{''.join(one)},{''.join(two)}->{''.join(out)}", a, b), {}, node.outs)
    return einsum(plan, call)


def bilinear(plan: Plan, node: Node) -> Lazy:
    x1, x2, weight, bias = arguments(node, "input1", "input2", "weight", "bias")
    a, b, w = plan.map(x1), plan.map(x2), plan.map(weight)
    i, j = e.var("ri", a.shape[-1]), e.var("rj", b.shape[-1])
    shape = (*a.shape[:-1], w.shape[0])
    extra = None if bias is None else plan.map(bias)

    def at(c: Shape) -> Expr:
        out = e.reduce("add", (i, j), a.value((*c[:-1], i)) * w.value((c[-1], i, j)) * b.value((*c[:-1], j)))
        return out if extra is None else e.named(out + extra.value((c[-1],)), "bilinear")

    outer = tuple(e.var(n, s) for n, s in zip((*("b", "t", "u", "v")[: len(shape) - 1], "o"), shape, strict=True))
    return Lazy(shape, a.dtype, at, "reduce", Space(outer=outer, coords=tuple(zero(v) for v in outer)), ops=a.ops)


def cdist(plan: Plan, node: Node) -> Lazy:
    from kzlib.teacher.ops import absolute

    x, y, p = arguments(node, "x1", "x2", "p", p=2.0)
    a, b = plan.map(x), plan.map(y)
    k = e.var("rk", a.shape[-1])
    lead = broadcast_shape([_head(a), _head(b)], plan.info(node).shape[:-2], None)
    shape = (*lead, a.shape[-2], b.shape[-2])
    if p not in (1, 2, 1.0, 2.0):
        raise Unsupported("cdist with p other than 1 or 2")

    def at(c: Shape) -> Expr:
        d = e.named(a.value((*align(_head(a), c[:-2]), c[-2], k)) - b.value((*align(_head(b), c[:-2]), c[-1], k)), "d")
        total = e.reduce("add", (k,), d * d if p == 2 else absolute(d))
        return e.named(e.call("sqrt", total), "cdist") if p == 2 else total

    names = (*("b", "b2")[: len(lead)], "i", "j")
    outer = tuple(e.var(n, s) for n, s in zip(names, shape, strict=True))
    return Lazy(shape, a.dtype, at, "reduce", Space(outer=outer, coords=tuple(zero(v) for v in outer)), ops=a.ops)


def vecdot(plan: Plan, node: Node) -> Lazy:
    from kzlib.teacher.families.reduction import Axes

    x, y, dim = arguments(node, "x", "y", "dim", dim=-1)
    a, b = plan.map(x), plan.map(y)
    shape = broadcast_shape([a, b], tuple(max(p, q) for p, q in zip(a.sizes, b.sizes, strict=True)), None)
    both = Lazy(shape, a.dtype, lambda c: a.value(align(a, c)) * b.value(align(b, c)), ops=a.ops)
    axes = Axes(both, (dim % len(shape),), False)
    return axes.lazy(lambda c: axes.reduce("add", c), a.dtype)


TABLE: dict[str, Any] = {
    "linear": linear,
    "matmul": matmul,
    "einsum": einsum,
    "tensordot": tensordot,
    "bilinear": bilinear,
    "cdist": cdist,
    "linalg_vecdot": vecdot,
}
