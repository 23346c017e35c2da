"""What large shapes ask for: few long rows are summed in parts, deep products are split, rows that lie across memory
are walked by a lane each. Small shapes keep the short forms. Source: issue 6, deliverable 2."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, compare, const, product, rewrite, substitute, value_of, var, walk
from kzlib.teacher.kernel import Kernel, Space

if TYPE_CHECKING:
    from kzlib.teacher.plan import Plan

BUSY = 512  # programs that keep a GPU busy
SPREAD = 1 << 16  # elements a row from which few rows are summed in parts
LANES = 1 << 14  # rows from which a lane walks a whole row
DEEP = 1 << 14  # inner size from which a small product is split
BLOCK = 4096  # elements of a part that a program takes at once
SHORT = 16  # the same where a schedule asks for parts of short rows

Pair = tuple[Expr, Expr]


def extent_of(variables: tuple[Expr, ...] | list[Expr]) -> int:
    return math.prod(value_of(v.attr[1]) for v in variables)


def stride(ld: Expr, v: Expr) -> int | None:
    """Elements between neighbours along an index variable; None where the index is looked up or not a sum.

    >>> from kzlib.teacher.expr import Buffer, const, load, var
    >>> i, j = var("i", const(4)), var("j", const(6))
    >>> x = load(Buffer("x", (const(4), const(6)), "f32", "x"), (i, j))
    >>> stride(x, i), stride(x, j)
    (6, 1)
    """
    names = {n for a in ld.args[:-1] for n in e.variables(a)}
    zero = {n: const(0) for n in names}
    total, below = 0, 1
    for index, size in zip(reversed(ld.args[:-1]), reversed(ld.attr.shape), strict=True):
        try:
            start = value_of(substitute(index, zero))
            total += (value_of(substitute(index, {**zero, v.attr[0]: const(1)})) - start) * below
        except (KeyError, AttributeError):
            return None
        below *= value_of(size)
    return total


def across(kernel: Kernel) -> bool:
    """Do rows lie across memory, so that neighbouring rows are neighbours there?"""
    row = [v for v in kernel.row_variables() if value_of(v.attr[1]) > 1]
    outer = [v for v in kernel.space.outer if value_of(v.attr[1]) > 1]
    if not row or not outer or value_of(outer[-1].attr[1]) < 8:
        return False
    names = {v.attr[0] for v in row}
    reads = [ld for ld in e.loads(kernel.body) if names & e.variables(ld)]
    reads.sort(key=lambda ld: -e.numel(ld.attr.shape))
    return bool(reads) and stride(reads[0], row[-1]) not in (0, 1, None) and stride(reads[0], outer[-1]) == 1


def walk_by_lanes(kernel: Kernel) -> bool:
    least = kernel.schedule.get("lanes", LANES)
    return kernel.kind in ("row", "reduce", "scan") and extent_of(kernel.space.outer) >= least and across(kernel)


def apart(bodies: list[Expr]) -> list[Expr]:
    """The same values with index variables of their own for every reduction, so that nested loops do not share one."""
    names: dict[Expr, Expr] = {}
    used: set[str] = {n for body in bodies for n in e.variables(body)}

    def change(x: Expr) -> Expr | None:
        if x.op != "reduce":
            return None
        if x not in names:
            table = {}
            for v in x.attr[1:]:
                k = 2
                while f"{v.attr[0]}{k}" in used:
                    k += 1
                used.add(f"{v.attr[0]}{k}")
                table[v.attr[0]] = var(f"{v.attr[0]}{k}", v.attr[1])
            inner = substitute(rewrite(x.args[0], change), table)
            own = tuple(table[v.attr[0]] for v in x.attr[1:])
            names[x] = Expr("reduce", (inner,), (x.attr[0], *own), x.dtype, x.label)
        return names[x]

    return [rewrite(body, change) for body in bodies]


# ------------------------------------------------------------------ few long rows


def spread(
    plan: Plan, kind: str, body: Expr, space: Space, state: tuple[Pair, ...]
) -> tuple[str, Expr, Space, tuple[Pair, ...]]:
    """Where few programs would each walk a very long row: every sum in parts by one kernel, the parts by a second."""
    if kind not in ("row", "reduce"):
        return kind, body, space, state
    sums = list(dict.fromkeys(x for x in walk(body) if x.op == "reduce"))
    long = extent_of(sums[0].attr[1:]) if sums else 0
    least = plan.schedule.get("spread", SPREAD)
    if extent_of(space.outer) >= BUSY or long < least or any(not _splits(s) for s in sums):
        return kind, body, space, state
    table: dict[Expr, Expr] = {}
    outer = tuple(v for v in space.outer if value_of(v.attr[1]) > 1)
    chunk = chunk_of(long, extent_of(outer), BLOCK if least == SPREAD else SHORT)
    for k, total in enumerate(sums):
        q, parts = partial(plan, rewrite(total, table.get), outer, chunk)
        again = e.reduce(total.attr[0], (q,), parts)
        last = k == len(sums) - 1
        if last and kind == "reduce":
            table[total] = again
            break
        now = tuple((where, rewrite(value, {**table, total: again}.get)) for where, value in state) if last else ()
        table[total] = plan.emit("reduce", again, Space(outer=outer, coords=outer), "total", now).value(outer)
    return kind, rewrite(body, table.get), space, () if kind == "row" else state


def _splits(total: Expr) -> bool:
    return not total.attr[0].startswith("arg") and total.dtype in ("f32", "i32", "i64")


def chunk_of(length: int, rows: int, block: int) -> int:
    """Elements a part: about 2,048 programs in all, whole blocks.

    >>> chunk_of(1 << 30, 1, 4096), chunk_of(70_000, 128, 4096)
    (524288, 12288)
    """
    parts = max(2, min(2048 // rows, length // (2 * block)))
    return block * max(1, -(-length // (parts * block)))


def partial(plan: Plan, total: Expr, outer: tuple[Expr, ...], chunk: int) -> tuple[Expr, Expr]:
    """A kernel that writes one number a part of a row; gives the index of parts and the load of one."""
    count = (product([v.attr[1] for v in total.attr[1:]]) + (chunk - 1)) // chunk
    part = var("part", count)
    space = Space(outer=(*outer, part), coords=(*outer, part))
    schedule = {"chunk": chunk, "passes": "loop", "block": BLOCK if chunk % BLOCK == 0 else SHORT}
    written = plan.emit("reduce", total, space, "parts", (), schedule)
    q = var("q", written.shape[-1])
    return q, written.value((*outer, q))


# ------------------------------------------------------------------ deep products


def deepened(plan: Plan, kind: str, body: Expr, space: Space) -> tuple[str, Expr, Space]:
    """A small product over a very long inner index: parts of the sum in a batch of tiles, then their sum."""
    dot = next((x for x in walk(body) if x.op == "dot"), None)
    if kind != "dot" or dot is None or len(dot.attr) != 2 or space.batch or space.store_shape:
        return kind, body, space
    k, tiles = dot.attr[1], math.ceil(extent_of(space.m) / 64) * math.ceil(extent_of(space.n) / 64)
    depth = value_of(k.attr[1])
    if tiles >= 132 or depth < plan.schedule.get("deep", DEEP):
        return kind, body, space
    chunk = chunk_of(depth, 4 * tiles, 256 if depth >= DEEP else SHORT)
    part, q = var("part", (k.attr[1] + (chunk - 1)) // chunk), var(k.attr[0], const(chunk))
    spot = part * chunk + q
    guard = e.TRUE if depth % chunk == 0 else compare("lt", spot, k.attr[1])
    sides = tuple(_narrowed(side, k, spot, guard) for side in dot.args)
    outer = tuple(v for v in space.outer if value_of(v.attr[1]) > 1)
    tiled = Space(outer=(part, *outer), batch=(part,), m=space.m, n=space.n, coords=(part, *outer))
    written = plan.emit("dot", Expr("dot", sides, ("add", q)), tiled, "parts")
    p = var("p", written.shape[0])
    body = rewrite(body, {dot: e.reduce("add", (p,), written.value((p, *outer)))}.get)
    return "map", body, Space(outer=space.outer, coords=space.coords)


def _narrowed(side: Expr, k: Expr, spot: Expr, guard: Expr) -> Expr:
    moved = substitute(side, {k.attr[0]: spot})
    if guard == e.TRUE:
        return moved

    def change(x: Expr) -> Expr | None:
        if x.op == "load":
            return Expr("load", (*x.args[:-1], e.both(guard, x.args[-1])), x.attr, x.dtype)
        return None

    return rewrite(moved, change)


# ------------------------------------------------------------------ schedules for one kernel


def fitted(kernel: Kernel) -> dict[str, Any]:
    """Tiles and warps by size, for kernels with enough work to need them; {} for the others."""
    if kernel.kind == "dot":
        return _tile(kernel)
    rows, length = extent_of(kernel.space.outer), kernel.row_length()
    if kernel.kind in ("row", "reduce", "scan") and rows * length >= 1 << 22:
        one = kernel.schedule.get("passes") == "one" and length <= 16384
        width = length if one else 4096
        warps = 1 if width <= 256 else 2 if width <= 512 else 4 if width <= 2048 else 8
        return {"num_warps": warps, "threads": min(1024, max(32, 32 * -(-length // 128)))}
    return {}


def _tile(kernel: Kernel) -> dict[str, Any]:
    dot = next(x for x in walk(kernel.body) if x.op == "dot")
    m, n, k = extent_of(kernel.space.m), extent_of(kernel.space.n), extent_of(dot.attr[1:])
    if m * n * k < 1 << 24:
        return {}
    side = lambda size, most: max(16, min(most, 1 << (size - 1).bit_length()))  # noqa: E731
    bm, bn = side(m, 64), side(n, 64)
    if bm < 64:
        bn = side(n, 64 * 64 // bm if bm > 16 else 128)
    elif bn < 64:
        bm = side(m, 64 * 64 // bn if bn > 16 else 128)
    many = min(m, n) >= 96 and -(-m // 128) * -(-n // 128) * extent_of(kernel.space.batch) >= BUSY // 2
    return {"tile": (bm, bn, 32), "register_tile": 8 if many else 4}


__all__ = ["apart", "deepened", "extent_of", "fitted", "spread", "stride", "walk_by_lanes"]
