"""Pools: an element is the extreme or the mean of a window."""

from __future__ import annotations

import math
from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, both, compare, const, maximum, minimum
from kzlib.teacher.families.args import arguments, pair
from kzlib.teacher.families.conv import SPATIAL
from kzlib.teacher.families.matmul import zero
from kzlib.teacher.families.reduction import Axes
from kzlib.teacher.graph import Node, Unsupported
from kzlib.teacher.kernel import Space
from kzlib.teacher.plan import Lazy, Plan, guarded

Shape = tuple[Expr, ...]


def out_sizes(
    plan: Plan,
    node: Node,
    x: Lazy,
    n: int,
    k: tuple[int, ...],
    s: tuple[int, ...],
    p: tuple[int, ...],
    d: tuple[int, ...],
) -> Shape:
    """Symbolic output sizes; ceil mode falls back to the traced number where the floor formula differs."""
    got = plan.info(node).shape
    out = list(x.shape[:-n])
    for i in range(n):
        size = x.shape[len(out)] + (2 * p[i] - d[i] * (k[i] - 1) - 1)
        size = (size // s[i] if s[i] > 1 else size) + 1
        out.append(size if e.value_of(size) == got[len(out)] else const(got[len(out)]))
    return tuple(out)


def loop(shape: Shape, dtype: str, at: Any, n: int, ops: tuple[str, ...]) -> Lazy:
    lead = ("b", "c", "g")[: len(shape) - n]
    names = (*lead, *(f"o{s}" for s in SPATIAL[n]))
    order = tuple(e.var(nm, s) for nm, s in zip(names, shape, strict=True))
    return Lazy(shape, dtype, at, "loop", Space(outer=order, coords=tuple(zero(v) for v in order)), ops=ops)


def window(
    x: Lazy, c: Shape, ks: Shape, n: int, s: tuple[int, ...], p: tuple[int, ...], d: tuple[int, ...], over: bool
) -> tuple[Shape, Expr]:
    lead, spots, guard = c[:-n], [], e.TRUE
    for i in range(n):
        spot = c[len(lead) + i] * s[i] + ks[i] * d[i] - p[i]
        if p[i] or over:
            spot = e.named(spot, f"i{SPATIAL[n][i]}")
            low = compare("ge", spot, 0) if p[i] else e.TRUE
            guard = both(guard, low, compare("lt", spot, x.shape[len(lead) + i]))
        spots.append(spot)
    return (*lead, *spots), guard


def max_pool(n: int) -> Any:
    def lower(plan: Plan, node: Node) -> Any:
        names = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
        x, kernel, stride, padding, dilation, ceil, _ = arguments(node, *names, padding=0, dilation=1, ceil_mode=False)
        source = plan.map(x)
        k = pair(kernel, n)
        s = k if stride is None or stride == () else pair(stride, n)
        p, d = pair(padding, n), pair(dilation, n)
        shape = out_sizes(plan, node, source, n, k, s, p, d)
        ks = tuple(e.var(f"k{a}", const(t)) for a, t in zip(SPATIAL[n], k, strict=True))

        def element(c: Shape) -> Expr:
            index, guard = window(source, c, tuple(zero(v) for v in ks), n, s, p, d, bool(ceil))
            return guarded(source, index, guard, -math.inf)

        value = loop(shape, source.dtype, lambda c: e.reduce("max", ks, element(c)), n, source.ops)
        if len(node.outs) == 1:
            return value

        def position(c: Shape) -> Expr:
            """The flat input position of the maximum, from the tap that won."""
            tap = e.named(e.reduce("argmax", ks, element(c)), "tap")
            rest, taps = tap, []
            for size in reversed(k):
                taps.append(rest % size)
                rest = rest // size
            flat: Expr = const(0)
            for i, t in enumerate(reversed(taps)):
                flat = flat * source.shape[-n + i] + (c[len(c) - n + i] * s[i] + t * d[i] - p[i])
            return flat

        return value, loop(shape, "i64", position, n, source.ops)

    return lower


def avg_pool(n: int) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        names = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
        x, kernel, stride, padding, ceil, include, divisor = arguments(
            node, *names, padding=0, ceil_mode=False, count_include_pad=True
        )
        source = plan.map(x)
        k = pair(kernel, n)
        s = k if stride is None or stride == () else pair(stride, n)
        p, d = pair(padding, n), (1,) * n
        shape = out_sizes(plan, node, source, n, k, s, p, d)
        ks = tuple(e.var(f"k{a}", const(t)) for a, t in zip(SPATIAL[n], k, strict=True))

        def at(c: Shape) -> Expr:
            index, guard = window(source, c, tuple(zero(v) for v in ks), n, s, p, d, bool(ceil))
            total = e.reduce("add", ks, guarded(source, index, guard))
            return e.named(total / count(c), f"avg_pool{n}d")

        def count(c: Shape) -> Expr:
            if divisor:
                return const(float(divisor))
            if (include or not any(p)) and not ceil:
                return const(float(math.prod(k)))
            out: Expr = const(1)
            for i in range(n):
                start = c[len(c) - n + i] * s[i] - p[i]
                size = source.shape[-n + i]
                stop = minimum(start + k[i], size + p[i] if include else size)
                out = out * (stop - (start if include or not p[i] else maximum(start, 0)))
            return e.as_float(e.named(out, "count"))

        return loop(shape, source.dtype, at, n, source.ops)

    return lower


def adaptive(n: int, kind: str) -> Any:
    def lower(plan: Plan, node: Node) -> Any:
        source = plan.map(node.args[0])
        sizes = plan.info(node).shape
        if len(node.outs) > 1:
            raise Unsupported("adaptive pooling with indices")
        lead = source.shape[:-n]
        if all(s == 1 for s in sizes[-n:]):
            axes = Axes(source, tuple(range(len(lead), len(lead) + n)), True)
            if kind == "max":
                return axes.lazy(lambda c: axes.reduce("max", c), source.dtype)
            return axes.lazy(lambda c: e.named(axes.reduce("add", c) / e.as_float(axes.count), "=mean"), source.dtype)
        shape = (
            *lead,
            *(
                source.shape[-n + i] if sizes[-n + i] == source.sizes[-n + i] else const(sizes[-n + i])
                for i in range(n)
            ),
        )
        whole = all(source.sizes[-n + i] % sizes[-n + i] == 0 for i in range(n))
        spans = [
            -(-source.sizes[-n + i] // sizes[-n + i]) + (0 if source.sizes[-n + i] % sizes[-n + i] == 0 else 1)
            for i in range(n)
        ]
        ks = tuple(e.var(f"k{a}", const(t)) for a, t in zip(SPATIAL[n], spans, strict=True))

        def edges(c: Shape, i: int) -> tuple[Expr, Expr]:
            o, full, out = c[len(c) - n + i], source.shape[-n + i], sizes[-n + i]
            if whole:
                return o * spans[i], (o + 1) * spans[i]
            names = SPATIAL[n][i]
            return e.named(o * full // out, f"{names}0"), e.named(((o + 1) * full + (out - 1)) // out, f"{names}1")

        def at(c: Shape) -> Expr:
            spots, guard, count = [], e.TRUE, const(1)
            for i in range(n):
                start, stop = edges(c, i)
                spot = start + zero(ks[i])
                if not whole:
                    guard = both(guard, compare("lt", spot, stop))
                spots.append(spot)
                count = count * (const(spans[i]) if whole else stop - start)
            body = guarded(source, (*c[:-n], *spots), guard, -math.inf if kind == "max" else 0.0)
            total = e.reduce("max" if kind == "max" else "add", ks, body)
            return total if kind == "max" else e.named(total / e.as_float(count), "=mean")

        return loop(shape, source.dtype, at, n, source.ops)

    return lower


TABLE: dict[str, Any] = {
    **{f"max_pool{n}d": max_pool(n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": avg_pool(n) for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": adaptive(n, "avg") for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": adaptive(n, "max") for n in (1, 2, 3)},
}
