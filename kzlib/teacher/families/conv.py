"""Convolutions: a product over (channel, tap) whose left operand is gathered. Transposed ones gather where the
stride divides."""

from __future__ import annotations

from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, both, compare, const, value_of
from kzlib.teacher.families.args import arguments, pair
from kzlib.teacher.families.matmul import zero
from kzlib.teacher.graph import Node
from kzlib.teacher.kernel import Space
from kzlib.teacher.plan import Lazy, Plan, guarded

Shape = tuple[Expr, ...]
PHASES = 1 << 20  # outputs from which a strided transposed convolution is done phase by phase
SPATIAL = {1: ("t",), 2: ("h", "w"), 3: ("d", "h", "w")}


def anchor(
    plan: Plan,
    x: Lazy,
    w: Lazy,
    bias: Any,
    out: Shape,
    groups: int,
    taps: tuple[int, ...],
    gather: Any,
    weight: Any,
    label: str,
) -> Lazy:
    """A convolution's lazy tensor from where it reads (`gather`) and which weight it uses (`weight`)."""
    n = len(taps)
    names = SPATIAL[n]
    per_in, per_out = e.idiv(x.shape[1], const(groups)), e.idiv(out[1], const(groups))
    b = None if bias is None else plan.map(bias)
    ic = e.var("ic", per_in)
    ks = tuple(e.var(f"k{s}", const(t)) for s, t in zip(names, taps, strict=True))
    inner = (ic, *ks)

    def at(c: Shape) -> Expr:
        g = c[1] // per_out if groups > 1 else const(0)
        j = c[1] % per_out if groups > 1 else c[1]
        channel = g * per_in + zero(ic) if groups > 1 else zero(ic)
        spots, guard = gather(c[2:], tuple(zero(k) for k in ks))
        left = guarded(x, (c[0], channel, *spots), guard)
        right = weight(g, j, channel, zero(ic), tuple(zero(k) for k in ks), c[1])
        product = Expr("dot", (right, left), ("add", *inner))
        return e.named(product + b.value((c[1],)), label) if b is not None else product

    batch = e.var("b", out[0])
    oc = e.var("oc", per_out)
    spatial = tuple(e.var(f"o{s}", size) for s, size in zip(names, out[2:], strict=True))
    if groups == 1:
        coords = tuple(zero(v) for v in (batch, oc, *spatial))
        space = Space(outer=(batch, oc, *spatial), m=(oc,), n=(batch, *spatial), across=True, coords=coords)
        return Lazy(out, x.dtype, at, "dot", space, ops=x.ops)
    if value_of(per_out) < 8:  # too few channels a group for a tile: an element a lane
        every = (batch, e.var("oc", out[1]), *spatial)
        return Lazy(out, x.dtype, at, "loop", Space(outer=every, coords=tuple(zero(v) for v in every)), ops=x.ops)
    g = e.var("g", const(groups))
    coords = (zero(batch), g * per_out + zero(oc), *(zero(s) for s in spatial))
    fine = (out[0], const(groups), per_out, *out[2:])
    index = (zero(batch), g, zero(oc), *(zero(s) for s in spatial))
    space = Space(
        outer=(batch, g, oc, *spatial),
        batch=(g,),
        m=(oc,),
        n=(batch, *spatial),
        across=True,
        coords=coords,
        store_shape=fine,
        store_index=index,
    )
    return Lazy(out, x.dtype, at, "dot", space, ops=x.ops)


def conv(n: int) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        names = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
        x, weight, bias, stride, padding, dilation, groups = arguments(
            node, *names, stride=1, padding=0, dilation=1, groups=1
        )
        source, w = plan.layout(x), plan.layout(weight)
        if len(source.shape) == n + 1:
            source = batched(source)
            return unbatched(lower_on(plan, source, w, bias, stride, padding, dilation, groups, n))
        return lower_on(plan, source, w, bias, stride, padding, dilation, groups, n)

    return lower


def batched(x: Lazy) -> Lazy:
    return Lazy((const(1), *x.shape), x.dtype, lambda c: x.value(c[1:]), layout=x.layout, ops=x.ops)


def unbatched(y: Lazy) -> Lazy:
    from dataclasses import replace

    s = y.space
    assert s is not None
    space = replace(s, coords=s.coords[1:], store_shape=s.store_shape[1:], store_index=s.store_index[1:])
    return Lazy(y.shape[1:], y.dtype, lambda c: y.value((const(0), *c)), y.kind, space, ops=y.ops)


def lower_on(
    plan: Plan, x: Lazy, w: Lazy, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, n: int
) -> Lazy:
    taps = w.sizes[2:]
    s, d = pair(stride, n), pair(dilation, n)
    if padding == "valid":
        padding = 0
    before = [d[i] * (taps[i] - 1) // 2 for i in range(n)] if padding == "same" else list(pair(padding, n))
    total = [d[i] * (taps[i] - 1) if padding == "same" else 2 * before[i] for i in range(n)]
    names = SPATIAL[n]
    out = [x.shape[0], w.shape[0]]
    for i in range(n):
        size = x.shape[2 + i] + (total[i] - d[i] * (taps[i] - 1) - 1)
        out.append((size // s[i] if s[i] > 1 else size) + 1)

    def gather(c: Shape, ks: Shape) -> tuple[Shape, Expr]:
        spots, guard = [], e.TRUE
        for i in range(n):
            spot = c[i] * s[i] + ks[i] * d[i] - before[i]
            if total[i]:
                spot = e.named(spot, f"i{names[i]}")
                guard = both(guard, compare("ge", spot, 0), compare("lt", spot, x.shape[2 + i]))
            spots.append(spot)
        return tuple(spots), guard

    def weight(g: Expr, j: Expr, channel: Expr, ic: Expr, ks: Shape, oc: Expr) -> Expr:
        return w.value((oc, ic, *ks))

    return anchor(plan, x, w, bias, tuple(out), groups, taps, gather, weight, f"conv{n}d")


def conv_transpose(n: int) -> Any:
    def lower(plan: Plan, node: Node) -> Lazy:
        names = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
        x, weight, bias, stride, padding, extra, groups, dilation = arguments(
            node, *names, stride=1, padding=0, output_padding=0, groups=1, dilation=1
        )
        source, w = plan.layout(x), plan.layout(weight)
        single = len(source.shape) == n + 1
        if single:
            source = batched(source)
        out = transposed(
            plan, source, w, bias, pair(stride, n), pair(padding, n), pair(extra, n), groups, pair(dilation, n), n
        )
        return unbatched(out) if single else out

    return lower


def transposed(
    plan: Plan,
    x: Lazy,
    w: Lazy,
    bias: Any,
    s: tuple[int, ...],
    p: tuple[int, ...],
    extra: tuple[int, ...],
    groups: int,
    d: tuple[int, ...],
    n: int,
) -> Lazy:
    taps, names = w.sizes[2:], SPATIAL[n]
    out = [x.shape[0], w.shape[1] * groups]
    out += [(x.shape[2 + i] - 1) * s[i] + (d[i] * (taps[i] - 1) + extra[i] + 1 - 2 * p[i]) for i in range(n)]

    large = e.numel(tuple(out)) >= plan.schedule.get("phases", PHASES)
    if large and max(s) > 1 and max(d) == 1 and out[1] != const(1):
        return by_phase(plan, x, w, bias, tuple(out), groups, s, p)

    def gather(c: Shape, ks: Shape) -> tuple[Shape, Expr]:
        """Output o takes input i where o + pad = i * stride + tap * dilation."""
        spots, guard = [], e.TRUE
        for i in range(n):
            reach = e.named(c[i] + p[i] - ks[i] * d[i], f"i{names[i]}" if s[i] == 1 else f"t{names[i]}")
            spot = reach if s[i] == 1 else reach // s[i]
            guard = both(guard, compare("ge", reach, 0))
            if s[i] > 1:
                guard = both(guard, compare("eq", reach % s[i], 0))
            guard = both(guard, compare("lt", spot, x.shape[2 + i]))
            spots.append(spot)
        return tuple(spots), guard

    def weight(g: Expr, j: Expr, channel: Expr, ic: Expr, ks: Shape, oc: Expr) -> Expr:
        return w.value((channel, j, *ks))

    return anchor(plan, x, w, bias, tuple(out), groups, taps, gather, weight, f"conv_transpose{n}d")


def by_phase(
    plan: Plan, x: Lazy, w: Lazy, bias: Any, out: Shape, groups: int, s: tuple[int, ...], p: tuple[int, ...]
) -> Lazy:
    """A strided transposed convolution as one dense product a phase: outputs with equal (o + pad) % stride use the
    same taps, so no tap is tried in vain."""
    n, taps, names = len(s), w.sizes[2:], SPATIAL[len(s)]
    per_in, per_out = e.idiv(x.shape[1], const(groups)), e.idiv(out[1], const(groups))
    g = e.var("g", const(groups))
    batch, oc, ic = e.var("b", out[0]), e.var("oc", per_out), e.var("ic", per_in)
    phase = tuple(e.var(f"p{a}", const(s[i])) for i, a in enumerate(names))
    low = tuple(p[i] % s[i] for i in range(n))
    quotient = tuple(e.var(f"q{a}", (out[2 + i] + (low[i] + s[i] - 1)) // s[i]) for i, a in enumerate(names))
    steps = tuple(e.var(f"j{a}", const(-(-taps[i] // s[i]))) for i, a in enumerate(names))
    spots, guard, reads, ks, read, weighed = [], e.TRUE, [], [], e.TRUE, e.TRUE
    for i, a in enumerate(names):
        spot = e.named(zero(quotient[i]) * s[i] + zero(phase[i]) - low[i], f"o{a}")
        if low[i]:
            guard = both(guard, compare("ge", spot, 0))
        if low[i] or e.value_of(out[2 + i]) % s[i]:
            guard = both(guard, compare("lt", spot, out[2 + i]))
        spots.append(spot)
        source = e.named(zero(quotient[i]) + (p[i] - low[i]) // s[i] - zero(steps[i]), f"i{a}")
        read = both(read, compare("ge", source, 0), compare("lt", source, x.shape[2 + i]))
        reads.append(source)
        tap = zero(phase[i]) + zero(steps[i]) * s[i]
        if taps[i] % s[i]:
            tap = e.named(tap, f"k{a}")
            weighed = both(weighed, compare("lt", tap, const(taps[i])))
        ks.append(tap)
    b = None if bias is None else plan.map(bias)
    channel = zero(g) * per_in + zero(ic)

    def at(c: Shape) -> Expr:
        left = guarded(w, (channel, zero(oc), *ks), weighed)
        dot = Expr("dot", (left, guarded(x, (c[0], channel, *reads), read)), ("add", ic, *steps))
        return e.named(dot + b.value((c[1],)), f"conv_transpose{n}d") if b is not None else dot

    fine, index = (out[0], const(groups), per_out, *out[2:]), (zero(batch), zero(g), zero(oc), *spots)
    space = Space(outer=(batch, g, oc, *phase, *quotient), batch=(g, *phase), m=(oc,), n=(batch, *quotient),
                  across=True, coords=(zero(batch), zero(g) * per_out + zero(oc), *spots), store_shape=fine,
                  store_index=index, guard=guard)  # fmt: skip
    return Lazy(out, x.dtype, at, "dot", space, ops=x.ops)


TABLE: dict[str, Any] = {
    **{f"conv{n}d": conv(n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": conv_transpose(n) for n in (1, 2, 3)},
}
