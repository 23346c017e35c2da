"""Padding, resizing, unfolding: every output element reads one place, or a few with weights."""

from __future__ import annotations

from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Expr, both, call, compare, const, maximum, minimum, where
from kzlib.teacher.families.args import arguments, pair
from kzlib.teacher.graph import Node, Scalar, Unsupported
from kzlib.teacher.plan import Lazy, Plan, guarded

Shape = tuple[Expr, ...]


def pad(plan: Plan, node: Node) -> Lazy:
    x, widths, mode, value = arguments(node, "input", "pad", "mode", "value", mode="constant", value=0.0)
    lazy = plan.map(x)
    rank, n = len(lazy.shape), len(widths) // 2
    before = [0] * rank
    after = [0] * rank
    for k in range(n):
        before[rank - 1 - k], after[rank - 1 - k] = widths[2 * k], widths[2 * k + 1]
    shape = tuple(s + (before[k] + after[k]) if before[k] or after[k] else s for k, s in enumerate(lazy.shape))
    number = value.value if isinstance(value, Scalar) else 0.0 if value is None else float(value)

    def at(c: Shape) -> Expr:
        spots, guard = [], e.TRUE
        for k in range(rank):
            spot = c[k] - before[k] if before[k] else c[k]
            if not (before[k] or after[k]):
                spots.append(spot)
                continue
            if mode == "constant":
                if before[k] > 0:
                    guard = both(guard, compare("ge", spot, 0))
                if after[k] > 0:
                    guard = both(guard, compare("lt", spot, lazy.shape[k]))
            else:
                spot = _fold(spot, lazy.shape[k], mode)
            spots.append(spot)
        return guarded(lazy, tuple(spots), guard, number)

    return Lazy(shape, lazy.dtype, at, layout=lazy.layout and (mode != "constant" or number == 0.0), ops=lazy.ops)


def _fold(spot: Expr, size: Expr, mode: str) -> Expr:
    """An index beyond the edge, brought back: mirrored, clamped or wrapped."""
    if mode == "replicate":
        return minimum(maximum(spot, 0), size - 1)
    if mode == "circular":
        return e.mod(spot + size, size)
    low = maximum(spot, -spot)
    return minimum(low, (size - 1) * 2 - low)


def interpolate(plan: Plan, node: Node) -> Lazy:
    x, _, scale, mode, corners = arguments(
        node, "input", "size", "scale_factor", "mode", "align_corners", mode="nearest"
    )
    lazy = plan.map(x)
    sizes = plan.info(node).shape
    n = len(sizes) - 2
    recompute = arguments(node, *["input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor"])[
        5
    ]
    factors: list[float | None] = [None] * n
    if scale is not None and not recompute:
        given = scale if isinstance(scale, tuple) else (scale,) * n
        factors = [v.value if isinstance(v, Scalar) else float(v) for v in given]
    if mode == "area":
        from kzlib.teacher.families.pooling import adaptive

        return adaptive(n, "avg")(plan, Node(node.op, (x,), {}, node.outs))
    shape = list(lazy.shape[:2])
    for i in range(n):
        f, size = factors[i], lazy.shape[2 + i]
        whole = sizes[2 + i] % lazy.sizes[2 + i] == 0 and f is not None
        shape.append(
            size * (sizes[2 + i] // lazy.sizes[2 + i])
            if whole
            else size
            if sizes[2 + i] == lazy.sizes[2 + i]
            else const(sizes[2 + i])
        )
    ratio = [
        1.0 / factors[i] if factors[i] else lazy.sizes[2 + i] / sizes[2 + i]  # type: ignore[operator]
        for i in range(n)
    ]
    if mode in ("nearest", "nearest-exact"):
        return _nearest(lazy, tuple(shape), sizes, ratio, n, 0.5 if mode == "nearest-exact" else 0.0)
    if mode in ("linear", "bilinear", "trilinear"):
        return _linear(lazy, tuple(shape), sizes, ratio, n, bool(corners))
    raise Unsupported(f"interpolate in mode {mode}")


def _nearest(lazy: Lazy, shape: Shape, sizes: tuple[int, ...], ratio: list[float], n: int, shift: float) -> Lazy:
    def at(c: Shape) -> Expr:
        spots = []
        for i in range(n):
            up = sizes[2 + i] / lazy.sizes[2 + i]
            if up.is_integer() and abs(ratio[i] * up - 1) < 1e-12:
                spots.append(c[2 + i] // int(up))
            else:
                place = e.as_int(call("floor", (e.as_float(c[2 + i]) + shift) * ratio[i]))
                spots.append(minimum(place, lazy.shape[2 + i] - 1))
        return lazy.value((*c[:2], *spots))

    return Lazy(shape, lazy.dtype, at, ops=lazy.ops)


def _linear(lazy: Lazy, shape: Shape, sizes: tuple[int, ...], ratio: list[float], n: int, corners: bool) -> Lazy:
    def at(c: Shape) -> Expr:
        terms: list[tuple[list[Expr], Expr | None]] = [([], None)]
        for i in range(n):
            axis, size = "dhw"[3 - n + i], lazy.shape[2 + i]
            o = e.as_float(c[2 + i])
            if corners:
                step = (lazy.sizes[2 + i] - 1) / (sizes[2 + i] - 1) if sizes[2 + i] > 1 else 0.0
                place = o * step
            else:
                place = maximum((o + 0.5) * ratio[i] - 0.5, 0.0)
            place = e.named(place, f"=p{axis}")
            low = e.named(minimum(e.as_int(place), size - 1), f"{axis}0")
            high = e.named(minimum(low + 1, size - 1), f"{axis}1")
            t = e.named(place - e.as_float(low), f"=t{axis}")
            terms = [
                ([*spots, spot], weight if old is None else old * weight)
                for spots, old in terms
                for spot, weight in ((low, 1.0 - t), (high, t))
            ]
        out: Expr | None = None
        for spots, weight in terms:
            part = lazy.value((*c[:2], *spots)) * weight  # type: ignore[operator]
            out = part if out is None else out + part
        assert out is not None
        return e.named(out, "interpolate")

    return Lazy(shape, lazy.dtype, at, ops=lazy.ops)


def unfold(plan: Plan, node: Node) -> Lazy:
    """F.unfold: patches of an image as columns."""
    x, kernel, dilation, padding, stride = arguments(
        node, "input", "kernel_size", "dilation", "padding", "stride", dilation=1, padding=0, stride=1
    )
    lazy = plan.map(x)
    k, d, p, s = (pair(v, 2) for v in (kernel, dilation, padding, stride))
    rows = [(lazy.sizes[2 + i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]
    shape = (lazy.shape[0], lazy.shape[1] * (k[0] * k[1]), const(rows[0] * rows[1]))

    def at(c: Shape) -> Expr:
        kh, kw = c[1] // k[1] % k[0], c[1] % k[1]
        ih = e.named(c[2] // rows[1] * s[0] + kh * d[0] - p[0], "ih")
        iw = e.named(c[2] % rows[1] * s[1] + kw * d[1] - p[1], "iw")
        guard = e.TRUE
        for spot, size, width in ((ih, lazy.shape[2], p[0]), (iw, lazy.shape[3], p[1])):
            if width:
                guard = both(guard, compare("ge", spot, 0), compare("lt", spot, size))
        return guarded(lazy, (c[0], c[1] // (k[0] * k[1]), ih, iw), guard)

    return Lazy(shape, lazy.dtype, at, ops=lazy.ops)


TABLE: dict[str, Any] = {
    "pad": pad,
    "interpolate": interpolate,
    "im2col": unfold,
}
__all__ = ["TABLE", "where"]
