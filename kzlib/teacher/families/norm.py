"""Normalisation layers: mean and variance of a row, then the row scaled and shifted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import Buffer, Expr, call, const, value_of
from kzlib.teacher.families.args import arguments
from kzlib.teacher.families.reduction import Axes, variance_parts
from kzlib.teacher.families.softmax import row_space
from kzlib.teacher.graph import Node, Scalar, Unsupported
from kzlib.teacher.kernel import Space
from kzlib.teacher.plan import Lazy, Plan

Shape = tuple[Expr, ...]


def _number(v: Any) -> float:
    return v.value if isinstance(v, Scalar) else float(v)


def affine(x: Expr, weight: Lazy | None, bias: Lazy | None, index: Shape) -> Expr:
    if weight is not None:
        x = x * weight.value(index)
    return x if bias is None else x + bias.value(index)


def layer_norm(plan: Plan, node: Node) -> Lazy:
    x, shape, weight, bias, eps = arguments(node, "input", "normalized_shape", "weight", "bias", "eps", eps=1e-5)
    source = plan.map(x)
    count = len(shape)
    axes_at = tuple(range(len(source.shape) - count, len(source.shape)))
    axes = Axes(source, axes_at, True)
    w, b = (None if v is None else plan.map(v) for v in (weight, bias))
    mean_at, var_at = variance_parts(axes, 0)

    def at(c: Shape) -> Expr:
        scale = e.named(call("rsqrt", var_at(c) + _number(eps)), "=scale")
        d = e.named(source.value(c) - mean_at(c), "=d")
        return e.named(affine(d * scale, w, b, c[-count:]), "layer_norm")

    return Lazy(source.shape, source.dtype, at, "row", row_space(source, axes_at), ops=source.ops)


def rms_norm(plan: Plan, node: Node) -> Lazy:
    x, shape, weight, eps = arguments(node, "input", "normalized_shape", "weight", "eps")
    source = plan.map(x)
    count = len(shape)
    axes_at = tuple(range(len(source.shape) - count, len(source.shape)))
    axes = Axes(source, axes_at, True)
    w = None if weight is None else plan.map(weight)
    small = 1.1920928955078125e-07 if eps is None else _number(eps)

    def at(c: Shape) -> Expr:
        square = axes.reduce("add", c, lambda v: v * v) / e.as_float(axes.count)
        scale = e.named(call("rsqrt", square + small), "=scale")
        return e.named(affine(source.value(c) * scale, w, None, c[-count:]), "rms_norm")

    return Lazy(source.shape, source.dtype, at, "row", row_space(source, axes_at), ops=source.ops)


def group_norm(plan: Plan, node: Node) -> Lazy:
    x, groups, weight, bias, eps = arguments(node, "input", "num_groups", "weight", "bias", "eps", eps=1e-5)
    source = plan.settle(x)
    w, b = (None if v is None else plan.map(v) for v in (weight, bias))
    return grouped(plan, source, groups, w, b, _number(eps), "group_norm")


def grouped(plan: Plan, source: Lazy, groups: int, w: Lazy | None, b: Lazy | None, eps: float, label: str) -> Lazy:
    """The channel axis seen as (group, channel in group): every row is then one contiguous run."""
    assert source.buffer is not None
    n, channels, *space = source.shape
    per = e.idiv(channels, const(groups))
    fine = (n, const(groups), per, *space)
    view = plan.of_buffer(Buffer(source.buffer.text, fine, source.buffer.dtype, source.buffer.hint))
    axes = Axes(view, tuple(range(2, len(fine))), True)
    mean_at, var_at = variance_parts(axes, 0)

    def at(c: Shape) -> Expr:
        index = (c[0], c[1] // per, c[1] % per, *c[2:])
        scale = e.named(call("rsqrt", var_at(index) + eps), "=scale")
        d = e.named(view.value(index) - mean_at(index), "=d")
        return e.named(affine(d * scale, w, b, (c[1],)), label)

    names = {0: (), 1: ("t",), 2: ("h", "w"), 3: ("d", "h", "w")}[len(space)]
    bv, g, j = e.var("b", n), e.var("g", const(groups)), e.var("j", per)
    spatial = tuple(e.var(k, s) for k, s in zip(names, space, strict=True))
    zero = lambda v: v if value_of(v.attr[1]) != 1 else const(0)  # noqa: E731
    channel = zero(g) * per + zero(j)
    coords = (zero(bv), channel, *(zero(s) for s in spatial))
    index = (zero(bv), zero(g), zero(j), *(zero(s) for s in spatial))
    at_space = Space(outer=(bv, g), row=(j, *spatial), coords=coords, store_shape=fine, store_index=index)
    return Lazy(source.shape, source.dtype, at, "row", at_space, ops=source.ops)


def per_channel(
    plan: Plan, source: Lazy, keep: tuple[int, ...], w: Lazy | None, b: Lazy | None, eps: float, label: str
) -> Lazy:
    """Statistics over every axis but `keep`; the last of `keep` is the channel."""
    axes_at = tuple(k for k in range(len(source.shape)) if k not in keep)
    axes = Axes(source, axes_at, True)
    mean_at, var_at = variance_parts(axes, 0)

    def at(c: Shape) -> Expr:
        scale = e.named(call("rsqrt", var_at(c) + eps), "=scale")
        d = e.named(source.value(c) - mean_at(c), "=d")
        return e.named(affine(d * scale, w, b, (c[keep[-1]],)), label)

    return Lazy(source.shape, source.dtype, at, "row", row_space(source, axes_at), ops=source.ops)


def batch_norm(plan: Plan, node: Node) -> Lazy:
    names = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    x, mean, var, weight, bias, training, momentum, eps = arguments(
        node, *names, training=False, momentum=0.1, eps=1e-5
    )
    w, b = (None if v is None else plan.map(v) for v in (weight, bias))
    source = plan.map(x)
    if training:
        out = per_channel(plan, source, (1,), w, b, _number(eps), "batch_norm")
        if mean is not None and var is not None:
            track(plan, source, out, plan.get(mean), plan.get(var), _number(momentum))
        return out
    source = plan.get(x)
    m, v = plan.map(mean), plan.map(var)

    def at(c: Shape) -> Expr:
        scale = e.named(call("rsqrt", v.value((c[1],)) + _number(eps)), "=scale")
        return e.named(affine((source.value(c) - m.value((c[1],))) * scale, w, b, (c[1],)), "batch_norm")

    return Lazy(source.shape, source.dtype, at, ops=source.ops)


def track(plan: Plan, source: Lazy, out: Lazy, mean: Lazy, var: Lazy, momentum: float) -> None:
    """Training mode: the kernel also moves the running mean and the (unbiased) running variance of its channel."""
    axes = Axes(source, tuple(k for k in range(len(source.shape)) if k != 1), True)
    mean_at, var_at = variance_parts(axes, 0)
    assert out.space is not None
    c = tuple(const(0) if k != 1 else v for k, v in enumerate(out.space.coords))
    count = e.as_float(axes.count)
    keep = round(1.0 - momentum, 12)
    running = e.named(mean.value((c[1],)) * keep + mean_at(c) * momentum, "=running")
    unbiased = var_at(c) * (count / e.as_float(axes.count - 1))
    spread = e.named(var.value((c[1],)) * keep + unbiased * momentum, "=spread")
    out.state = ((mean.value((c[1],)), running), (var.value((c[1],)), spread))
    assert mean.buffer is not None
    counter = mean.buffer.text.replace("running_mean", "num_batches_tracked")
    if counter in plan.graph.params.values():
        plan.host_lines.append(f"{counter}.add_(1)")


def instance_norm(plan: Plan, node: Node) -> Lazy:
    names = ("input", "running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps")
    x, mean, _, weight, bias, own, _, eps = arguments(node, *names, use_input_stats=True, eps=1e-5)
    if not own or mean is not None:
        raise Unsupported("instance norm from running statistics")
    w, b = (None if v is None else plan.map(v) for v in (weight, bias))
    return per_channel(plan, plan.map(x), (0, 1), w, b, _number(eps), "instance_norm")


TABLE: dict[str, Callable[..., Any]] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
}
