"""Views and rearrangements: index arithmetic that composes into whatever reads the result."""

from __future__ import annotations

import math
from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Buffer, Expr, as_expr, compare, const, value_of, where
from kzlib.teacher.families.args import arguments, dims
from kzlib.teacher.graph import Node, Ref, Scalar, Unsupported
from kzlib.teacher.plan import DTYPES, Lazy, Plan, guarded

Shape = tuple[Expr, ...]


def moved(source: Lazy, shape: Shape, index: Any) -> Lazy:
    """A tensor whose element at `c` is the source's at `index(c)`."""
    return Lazy(shape, source.dtype, lambda c: source.value(index(c)), layout=source.layout, ops=source.ops)


def reshaped(plan: Plan, source: Lazy, sizes: tuple[int, ...]) -> Lazy:
    """The same memory under another shape; needs a buffer (units may come and go on anything)."""
    shape = match_shape(source.shape, sizes)
    kept = [s for s in source.sizes if s != 1]
    if kept == [s for s in sizes if s != 1]:
        old = [i for i, s in enumerate(source.sizes) if s != 1]
        new = [i for i, s in enumerate(sizes) if s != 1]

        def index(c: Shape) -> Shape:
            full: list[Expr] = [const(0)] * len(source.shape)
            for i, j in zip(old, new, strict=True):
                full[i] = c[j]
            return tuple(full)

        if source.buffer is None:
            return moved(source, shape, index)
    assert source.buffer is not None
    b = source.buffer
    return plan.of_buffer(Buffer(b.text, shape, b.dtype, b.hint))


def match_shape(source: Shape, sizes: tuple[int, ...]) -> Shape:
    """Symbolic sizes for a reshape: equal sizes keep their expression, merged ones multiply, split ones divide."""
    out: list[Expr] = []
    i = j = 0
    src = [s for s in source if value_of(s) != 1]
    while j < len(sizes):
        if sizes[j] == 1:
            out.append(const(1))
            j += 1
            continue
        left, right = value_of(src[i]), sizes[j]
        i1, j1 = i + 1, j + 1
        while left != right:
            if left < right:
                left *= value_of(src[i1])
                i1 += 1
            else:
                right *= sizes[j1]
                j1 += 1
        whole = e.product(src[i:i1])
        group = [s for s in sizes[j:j1] if s != 1]
        first = True
        for k, size in enumerate(sizes[j:j1]):
            if size == 1:
                out.append(const(1))
            elif len(group) == 1:
                out.append(whole)
            elif first and i1 - i == 1 and k == 0 and j == 0:
                out.append(e.idiv(whole, const(math.prod(group[1:]))))
                first = False
            elif j != 0 and k == max(t for t, s in enumerate(sizes[j:j1]) if s != 1):
                out.append(e.idiv(whole, const(math.prod(group[:-1]))))
            else:
                out.append(const(size))
                first = False
        i, j = i1, j1
    return tuple(out)


def reshape(plan: Plan, node: Node) -> Lazy:
    sizes = plan.info(node).shape
    source = plan.map(node.args[0])
    units = [s for s in source.sizes if s != 1] == [s for s in sizes if s != 1]
    if not units or 0 in sizes:
        source = plan.settle(node.args[0])
    return reshaped(plan, source, sizes)


def permute(plan: Plan, node: Node) -> Lazy:
    order = node.args[1] if isinstance(node.args[1], tuple) else tuple(node.args[1:])
    return permuted(plan.map(node.args[0]), tuple(d % len(order) for d in order))


def permuted(source: Lazy, order: tuple[int, ...]) -> Lazy:
    back = [order.index(d) for d in range(len(order))]
    return moved(source, tuple(source.shape[d] for d in order), lambda c: tuple(c[b] for b in back))


def transpose(plan: Plan, node: Node) -> Lazy:
    source, a, b = arguments(node, "input", "dim0", "dim1")
    rank = len(plan.get(source).shape)
    order = list(range(rank))
    order[a % rank], order[b % rank] = order[b % rank], order[a % rank]
    return permuted(plan.map(source), tuple(order))


def transpose_last(plan: Plan, node: Node) -> Lazy:
    source = plan.map(node.args[0])
    rank = len(source.shape)
    return permuted(source, (*range(rank - 2), *((rank - 1, rank - 2) if rank > 1 else range(rank))))


def movedim(plan: Plan, node: Node) -> Lazy:
    source, start, end = arguments(node, "input", "source", "destination")
    rank = len(plan.get(source).shape)
    starts, ends = [[d % rank for d in ((v,) if isinstance(v, int) else v)] for v in (start, end)]
    order = [-1] * rank
    for s, t in zip(starts, ends, strict=True):
        order[t] = s
    rest = iter(d for d in range(rank) if d not in starts)
    return permuted(plan.map(source), tuple(next(rest) if o < 0 else o for o in order))


def expand(plan: Plan, node: Node) -> Lazy:
    source = plan.map(node.args[0])
    sizes = plan.info(node).shape
    extra = len(sizes) - len(source.shape)
    shape = tuple(
        source.shape[k - extra] if k >= extra and source.sizes[k - extra] == s else const(s)
        for k, s in enumerate(sizes)
    )
    return moved(
        source, shape, lambda c: tuple(const(0) if n == 1 else c[extra + k] for k, n in enumerate(source.sizes))
    )


def sliced(source: Lazy, axis: int, start: int, size: int, step: int = 1) -> Lazy:
    full = source.shape[axis]
    length = full if size == value_of(full) else const(size)
    shape = (*source.shape[:axis], length, *source.shape[axis + 1 :])
    return moved(source, shape, lambda c: (*c[:axis], c[axis] * step + start, *c[axis + 1 :]))


def picked(source: Lazy, axis: int, at: Expr | int) -> Lazy:
    shape = (*source.shape[:axis], *source.shape[axis + 1 :])
    return moved(source, shape, lambda c: (*c[:axis], as_expr(at), *c[axis:]))


def narrow(plan: Plan, node: Node) -> Lazy:
    source, axis, start, length = arguments(node, "input", "dim", "start", "length")
    lazy = plan.map(source)
    axis %= len(lazy.shape)
    return sliced(lazy, axis, start % max(1, lazy.sizes[axis]), length)


def select(plan: Plan, node: Node) -> Lazy:
    source, axis, at = arguments(node, "input", "dim", "index")
    lazy = plan.map(source)
    axis %= len(lazy.shape)
    return picked(lazy, axis, at % lazy.sizes[axis])


def getitem(plan: Plan, node: Node) -> Any:
    source = plan.map(node.args[0])
    keys = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    full: list[Any] = []
    for k in keys:
        full += [slice(None)] * (len(source.shape) - used) if k is Ellipsis else [k]
    axis, gathers = 0, sum(isinstance(k, (Ref, tuple, list)) for k in full)
    if gathers > 1:
        raise Unsupported("indexing with several index tensors")
    for k in full:
        if k is None:
            source, axis = inserted(source, axis), axis + 1
        elif isinstance(k, bool):
            raise Unsupported("indexing with a truth value")
        elif isinstance(k, int):
            source = picked(source, axis, k % source.sizes[axis])
        elif isinstance(k, slice):
            start, stop, step = k.indices(source.sizes[axis])
            size = max(0, -(-(stop - start) // step))
            if (start, size, step) != (0, source.sizes[axis], 1):
                source = sliced(source, axis, start, size, step)
            axis += 1
        elif isinstance(k, Ref):
            index = plan.map(k)
            if index.dtype not in ("i64", "i32"):
                raise Unsupported("indexing with a mask")
            source, axis = gathered(source, axis, index), axis + len(index.shape)
        else:
            raise Unsupported("indexing with a list")
    return source


def gathered(source: Lazy, axis: int, index: Lazy) -> Lazy:
    """source[..., index, ...]"""
    rank = len(index.shape)
    shape = (*source.shape[:axis], *index.shape, *source.shape[axis + 1 :])

    def at(c: Shape) -> Expr:
        where_to = e.named(index.value(c[axis : axis + rank]), "index")
        size = source.shape[axis]
        if where_to.op == "load":
            where_to = e.named(e.where(compare("lt", where_to, 0), where_to + size, where_to), "at")
        return source.value((*c[:axis], where_to, *c[axis + rank :]))

    return Lazy(shape, source.dtype, at, ops=source.ops)


def inserted(source: Lazy, axis: int) -> Lazy:
    shape = (*source.shape[:axis], const(1), *source.shape[axis:])
    return moved(source, shape, lambda c: (*c[:axis], *c[axis + 1 :]))


def flip(plan: Plan, node: Node) -> Lazy:
    source = plan.map(node.args[0])
    given = node.kwargs.get("dims", node.args[1:])
    given = given[0] if len(given) == 1 and isinstance(given[0], tuple) else given
    axes = dims(tuple(given) if not isinstance(given, int) else given, len(source.shape))
    return flipped(source, axes)


def flipped(source: Lazy, axes: tuple[int, ...]) -> Lazy:
    def index(c: Shape) -> Shape:
        return tuple(source.shape[k] - 1 - i if k in axes else i for k, i in enumerate(c))

    return moved(source, source.shape, index)


def roll(plan: Plan, node: Node) -> Lazy:
    source, shifts, axes = arguments(node, "input", "shifts", "dims")
    lazy = plan.map(source)
    if axes is None or axes == ():
        if len(lazy.shape) != 1:
            raise Unsupported("roll over the flattened tensor")
        axes = (0,)
    shifts, axes = [(v,) if isinstance(v, int) else v for v in (shifts, axes)]
    table = {a % len(lazy.shape): s for a, s in zip(axes, shifts, strict=True)}

    def index(c: Shape) -> Shape:
        return tuple((i + (-table[k]) % lazy.sizes[k]) % lazy.shape[k] if k in table else i for k, i in enumerate(c))

    return moved(lazy, lazy.shape, index)


def cat(plan: Plan, node: Node) -> Lazy:
    parts, axis = arguments(node, "tensors", "dim", dim=0)
    return joined([plan.map(p) for p in parts if 0 not in plan.get(p).sizes], axis)


def joined(parts: list[Lazy], axis: int) -> Lazy:
    axis %= len(parts[0].shape)
    total = parts[0].shape[axis]
    for p in parts[1:]:
        total = total + p.shape[axis]

    def at(c: Shape) -> Expr:
        start: Expr = const(0)
        starts = []
        for p in parts:
            starts.append(start)
            start = start + p.shape[axis]
        position = e.named(c[axis], "")
        out: Expr | None = None
        for p, s in zip(reversed(parts), reversed(starts), strict=True):
            local = position - s
            guard = compare("lt", position, s + p.shape[axis])
            if not e.is_const(s, 0):
                guard = e.both(compare("ge", position, s), guard) if out is not None else compare("ge", position, s)
            value = guarded(p, (*c[:axis], local, *c[axis + 1 :]), guard)
            if out is None:
                out = value
            else:
                value = guarded_value(p, (*c[:axis], local, *c[axis + 1 :]), guard)
                out = where(compare("lt", position, s + p.shape[axis]), value, out)
        assert out is not None
        return e.named(out, "cat")

    shape = (*parts[0].shape[:axis], total, *parts[0].shape[axis + 1 :])
    ops = tuple(dict.fromkeys(o for p in parts for o in p.ops))
    return Lazy(shape, parts[0].dtype, at, ops=ops)


def guarded_value(lazy: Lazy, index: Shape, guard: Expr) -> Expr:
    """As `guarded`, but the caller selects: only the loads are guarded."""
    out = guarded(lazy, index, guard)
    return out.args[1] if out.op == "where" and out.args[0] == guard else out


def stack(plan: Plan, node: Node) -> Lazy:
    parts, axis = arguments(node, "tensors", "dim", dim=0)
    lazies = [plan.map(p) for p in parts]
    axis %= len(lazies[0].shape) + 1
    return joined([inserted(p, axis) for p in lazies], axis)


def stack_along(axis: int, least: int) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        lazies = [plan.map(p) for p in node.args[0]]
        out = []
        for given in lazies:
            p = given
            while len(p.shape) < least:
                p = inserted(p, 0)
            out.append(p)
        if axis == 1 and len(lazies[0].shape) == 1 and least == 1:
            return joined(out, 0)
        return joined(out, axis)

    return lower


def column_stack(plan: Plan, node: Node) -> Lazy:
    lazies = [plan.map(p) for p in node.args[0]]
    return joined([inserted(p, 1) if len(p.shape) == 1 else p for p in lazies], 1)


def dstack(plan: Plan, node: Node) -> Lazy:
    out = []
    for r in node.args[0]:
        p = plan.map(r)
        if len(p.shape) == 1:
            p = inserted(p, 0)
        out.append(inserted(p, 2) if len(p.shape) == 2 else p)
    return joined(out, 2)


def split(plan: Plan, node: Node) -> tuple[Lazy, ...]:
    axis = node.kwargs.get("dim", node.args[2] if len(node.args) > 2 else 0)
    return _pieces(plan, node, axis)


def tensor_split(fixed: int | None = None) -> Any:
    def lower(plan: Plan, node: Node) -> tuple[Lazy, ...]:
        axis = fixed if fixed is not None else node.kwargs.get("dim", node.args[2] if len(node.args) > 2 else 0)
        if fixed == 1 and len(plan.get(node.args[0]).shape) == 1:
            axis = 0
        return _pieces(plan, node, axis)

    return lower


def _pieces(plan: Plan, node: Node, axis: int) -> tuple[Lazy, ...]:
    source = plan.map(node.args[0])
    axis %= len(source.shape)
    out, start = [], 0
    for k in range(len(node.outs)):
        size = plan.info(node, k).shape[axis]
        out.append(sliced(source, axis, start, size))
        start += size
    return tuple(out)


def unbind(plan: Plan, node: Node) -> tuple[Lazy, ...]:
    source, axis = arguments(node, "input", "dim", dim=0)
    lazy = plan.map(source)
    axis %= len(lazy.shape)
    return tuple(picked(lazy, axis, k) for k in range(len(node.outs)))


def repeat(plan: Plan, node: Node) -> Lazy:
    source = plan.map(node.args[0])
    sizes = plan.info(node).shape
    extra = len(sizes) - len(source.shape)
    shape = []
    for k, s in enumerate(sizes):
        same = k >= extra and source.sizes[k - extra] == s
        shape.append(
            source.shape[k - extra]
            if same
            else const(s)
            if k < extra
            else source.shape[k - extra] * (s // source.sizes[k - extra])
        )

    def index(c: Shape) -> Shape:
        own = c[extra:]
        return tuple(i if sizes[extra + k] == source.sizes[k] else i % source.shape[k] for k, i in enumerate(own))

    return moved(source, tuple(shape), index)


def repeat_interleave(plan: Plan, node: Node) -> Lazy:
    source, times, axis = arguments(node, "input", "repeats", "dim")
    if not isinstance(times, int):
        raise Unsupported("repeat_interleave with a tensor of counts")
    lazy = plan.map(source)
    if axis is None:
        lazy, axis = reshaped(plan, plan.settle(source), (math.prod(lazy.sizes),)), 0
    axis %= len(lazy.shape)
    shape = (*lazy.shape[:axis], lazy.shape[axis] * times, *lazy.shape[axis + 1 :])
    return moved(lazy, shape, lambda c: (*c[:axis], c[axis] // times, *c[axis + 1 :]))


def triangle(upper: bool) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        source, k = arguments(node, "input", "diagonal", diagonal=0)
        lazy = plan.map(source)

        def at(c: Shape) -> Expr:
            keep = compare("ge" if upper else "le", c[-1], c[-2] + k)
            value = lazy.value(c)
            return e.named(
                where(keep, value, 0 if value.dtype in ("i32", "i64") else False if value.dtype == "bool" else 0.0),
                node.op,
            )

        return Lazy(lazy.shape, lazy.dtype, at, ops=lazy.ops)

    return lower


def diagonal(plan: Plan, node: Node) -> Lazy:
    source, offset, a, b = arguments(node, "input", "offset", "dim1", "dim2", offset=0, dim1=0, dim2=1)
    return diagonal_of(plan.map(source), offset, a, b)


def diagonal_of(lazy: Lazy, offset: int, a: int, b: int) -> Lazy:
    rank = len(lazy.shape)
    a, b = a % rank, b % rank
    rest = [d for d in range(rank) if d not in (a, b)]
    size = min(lazy.sizes[a] + min(0, offset), lazy.sizes[b] - max(0, offset))
    length = lazy.shape[a] if size == lazy.sizes[a] else lazy.shape[b] if size == lazy.sizes[b] else const(size)

    def index(c: Shape) -> Shape:
        full: list[Expr] = [const(0)] * rank
        for d, i in zip(rest, c, strict=False):
            full[d] = i
        full[a] = c[-1] + max(0, -offset)
        full[b] = c[-1] + max(0, offset)
        return tuple(full)

    return moved(lazy, (*(lazy.shape[d] for d in rest), length), index)


def diag(plan: Plan, node: Node) -> Lazy:
    source, offset = arguments(node, "input", "diagonal", diagonal=0)
    lazy = plan.map(source)
    return diagonal_of(lazy, offset, 0, 1) if len(lazy.shape) == 2 else embedded(lazy, offset)


def diag_embed(plan: Plan, node: Node) -> Lazy:
    source, offset, a, b = arguments(node, "input", "offset", "dim1", "dim2", offset=0, dim1=-2, dim2=-1)
    if (a, b) != (-2, -1):
        raise Unsupported("diag_embed into other axes")
    return embedded(plan.map(source), offset)


def embedded(lazy: Lazy, offset: int) -> Lazy:
    size = lazy.shape[-1] + abs(offset)

    def at(c: Shape) -> Expr:
        on = compare("eq", c[-1], c[-2] + offset)
        guard = e.both(on)
        return guarded(lazy, (*c[:-2], c[-1] - offset if offset > 0 else c[-1]), guard)

    return Lazy((*lazy.shape[:-1], size, size), lazy.dtype, at, ops=lazy.ops)


def rot90(plan: Plan, node: Node) -> Lazy:
    source, k, axes = arguments(node, "input", "k", "dims", k=1, dims=(0, 1))
    lazy = plan.map(source)
    rank = len(lazy.shape)
    a, b = axes[0] % rank, axes[1] % rank
    for _ in range(k % 4):
        order = list(range(rank))
        order[a], order[b] = b, a
        lazy = permuted(flipped(lazy, (b,)), tuple(order))
    return lazy


def pixel_shuffle(plan: Plan, node: Node) -> Lazy:
    lazy, r = plan.map(node.args[0]), node.args[1]
    c_out = e.idiv(lazy.shape[-3], const(r * r))
    shape = (*lazy.shape[:-3], c_out, lazy.shape[-2] * r, lazy.shape[-1] * r)

    def index(c: Shape) -> Shape:
        return (*c[:-3], c[-3] * (r * r) + (c[-2] % r) * r + c[-1] % r, c[-2] // r, c[-1] // r)

    return moved(lazy, shape, index)


def pixel_unshuffle(plan: Plan, node: Node) -> Lazy:
    lazy, r = plan.map(node.args[0]), node.args[1]
    shape = (
        *lazy.shape[:-3],
        lazy.shape[-3] * (r * r),
        e.idiv(lazy.shape[-2], const(r)),
        e.idiv(lazy.shape[-1], const(r)),
    )

    def index(c: Shape) -> Shape:
        return (*c[:-3], c[-3] // (r * r), c[-2] * r + c[-3] // r % r, c[-1] * r + c[-3] % r)

    return moved(lazy, shape, index)


def channel_shuffle(plan: Plan, node: Node) -> Lazy:
    lazy, groups = plan.map(node.args[0]), arguments(node, "input", "groups")[1]
    per = e.idiv(lazy.shape[1], const(groups))
    return moved(lazy, lazy.shape, lambda c: (c[0], (c[1] % groups) * per + c[1] // groups, *c[2:]))


def window(plan: Plan, node: Node) -> Lazy:
    """Tensor.unfold: sliding windows as a new last axis."""
    source, axis, size, step = arguments(node, "input", "dimension", "size", "step")
    lazy = plan.map(source)
    axis %= len(lazy.shape)
    count = e.idiv(lazy.shape[axis] - size, const(step)) + 1
    shape = (*lazy.shape[:axis], count, *lazy.shape[axis + 1 :], const(size))
    return moved(lazy, shape, lambda c: (*c[:axis], c[axis] * step + c[-1], *c[axis + 1 : -1]))


def cast(plan: Plan, node: Node) -> Lazy:
    source = plan.map(node.args[0])
    dtype = DTYPES.get(plan.info(node).dtype, "f64")
    if dtype == source.dtype or (dtype in ("f32", "f16", "bf16") and source.dtype in ("f16", "bf16")):
        if dtype == source.dtype:
            return source
        return Lazy(source.shape, dtype, source.value, ops=source.ops)
    if dtype in ("f32", "f16", "bf16"):
        return Lazy(source.shape, dtype, lambda c: e.as_float(source.value(c)), ops=source.ops)
    if dtype in ("i32", "i64"):
        return Lazy(source.shape, dtype, lambda c: e.as_int(source.value(c), dtype), ops=source.ops)
    if dtype == "bool":
        zero = 0 if source.dtype in ("i32", "i64") else 0.0
        return Lazy(source.shape, dtype, lambda c: compare("ne", source.value(c), zero), ops=source.ops)
    raise Unsupported(f"a cast to {plan.info(node).dtype}")


def filled(value: Any) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        info = plan.info(node)
        number = value
        if number is None:
            number = node.kwargs.get("fill_value", node.args[1] if len(node.args) > 1 else 0)
        number = plan.scalar(number)
        dtype = DTYPES.get(info.dtype, "f64")
        if not isinstance(number, Expr):
            number = bool(number) if dtype == "bool" else int(number) if dtype in ("i32", "i64") else float(number)
        source = plan.get(node.args[0]) if node.args and isinstance(node.args[0], Ref) else None
        shape = (
            source.shape if source is not None and source.sizes == info.shape else tuple(const(s) for s in info.shape)
        )
        return Lazy(shape, dtype, lambda c: as_expr(number))

    return lower


def arange(plan: Plan, node: Node) -> Lazy:
    numbers = list(node.args)
    start, step = 0, 1
    if len(numbers) >= 2:
        start = numbers[0]
    if len(numbers) == 3:
        step = numbers[2]
    start, step = node.kwargs.get("start", start), node.kwargs.get("step", step)
    info = plan.info(node)
    dtype = DTYPES.get(info.dtype, "f64")
    if dtype == "f32":
        return Lazy((const(info.shape[0]),), dtype, lambda c: e.as_float(c[0]) * float(step) + float(start))
    return Lazy((const(info.shape[0]),), dtype, lambda c: c[0] * int(step) + int(start))


def linspace(plan: Plan, node: Node) -> Lazy:
    start, end, steps = arguments(node, "start", "end", "steps")
    if any(isinstance(number, Scalar) for number in (start, end, steps)):
        raise Unsupported("linspace between numbers that a module is given")
    gap = (float(end) - float(start)) / max(1, int(steps) - 1)
    return Lazy((const(int(steps)),), "f32", lambda c: e.as_float(c[0]) * gap + float(start))


def tensor_constant(plan: Plan, node: Node) -> Lazy:
    value = plan.scalar(node.args[0])
    if isinstance(value, (int, float, bool, Expr)):
        return Lazy((), DTYPES[plan.info(node).dtype], lambda c: as_expr(value))
    raise Unsupported("a tensor built from a list in forward")


def meshgrid(plan: Plan, node: Node) -> tuple[Lazy, ...]:
    parts = node.args[0] if isinstance(node.args[0], tuple) else node.args
    lazies = [plan.map(p) for p in parts]
    shape = tuple(p.shape[0] for p in lazies)
    if node.kwargs.get("indexing") == "xy":
        raise Unsupported("meshgrid with xy indexing")
    return tuple(moved(p, shape, lambda c, k=k: (c[k],)) for k, p in enumerate(lazies))


def kron(plan: Plan, node: Node) -> Lazy:
    a, b = plan.map(node.args[0]), plan.map(node.args[1])
    if len(a.shape) != len(b.shape):
        raise Unsupported("kron of different ranks")

    def at(c: Shape) -> Expr:
        left = a.value(tuple(i // s for i, s in zip(c, b.shape, strict=True)))
        return left * b.value(tuple(i % s for i, s in zip(c, b.shape, strict=True)))

    return Lazy(tuple(p * q for p, q in zip(a.shape, b.shape, strict=True)), a.dtype, at, ops=a.ops)


TABLE: dict[str, Any] = {
    **dict.fromkeys(("reshape", "view", "flatten", "unflatten", "view_as", "reshape_as", "ravel"), reshape),
    **dict.fromkeys(("squeeze", "unsqueeze", "atleast_1d", "atleast_2d", "atleast_3d"), reshape),
    "permute": permute,
    "transpose": transpose,
    **dict.fromkeys(("get_T", "get_mT", "t", "adjoint"), transpose_last),
    "movedim": movedim,
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), expand),
    "narrow": narrow,
    "select": select,
    "__getitem__": getitem,
    "flip": flip,
    "fliplr": lambda plan, node: flipped(plan.map(node.args[0]), (1,)),
    "flipud": lambda plan, node: flipped(plan.map(node.args[0]), (0,)),
    "roll": roll,
    "cat": cat,
    "stack": stack,
    "hstack": stack_along(1, 1),
    "vstack": stack_along(0, 2),
    "column_stack": column_stack,
    "dstack": dstack,
    **dict.fromkeys(("split", "chunk", "split_with_sizes", "unsafe_split", "unsafe_chunk"), split),
    "tensor_split": tensor_split(),
    "hsplit": tensor_split(1),
    "vsplit": tensor_split(0),
    "dsplit": tensor_split(2),
    "unbind": unbind,
    **dict.fromkeys(("repeat", "tile"), repeat),
    "repeat_interleave": repeat_interleave,
    "tril": triangle(False),
    "triu": triangle(True),
    **dict.fromkeys(("diagonal", "linalg_diagonal"), diagonal),
    "diag": diag,
    "diag_embed": diag_embed,
    "rot90": rot90,
    "pixel_shuffle": pixel_shuffle,
    "pixel_unshuffle": pixel_unshuffle,
    "channel_shuffle": channel_shuffle,
    "native_channel_shuffle": channel_shuffle,
    "unfold": window,
    **dict.fromkeys(("to", "type", "type_as", "half", "long", "int", "bool", "double", "float"), cast),
    **dict.fromkeys(("zeros", "zeros_like", "new_zeros"), filled(0)),
    **dict.fromkeys(("ones", "ones_like", "new_ones"), filled(1)),
    **dict.fromkeys(("full", "full_like", "new_full"), filled(None)),
    "arange": arange,
    "linspace": linspace,
    "tensor": tensor_constant,
    "meshgrid": meshgrid,
    "kron": kron,
}
