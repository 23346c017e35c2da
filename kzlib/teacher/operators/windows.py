"""Sliding windows: convolutions, transposed ones, pooling."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import CHANNELS, channels, short


def conv(d: Draft, api: str) -> bool:
    n = int(api[-2])
    if d.rank != n + 2:
        return False
    transposed = "ranspose" in api
    out, k = d.pick(*CHANNELS), d.pick(1, 2, 3, 3, 3, 3, 4, 5)
    if min(d.shape[2:]) < k + 1:
        return False
    stride, padding, dilation = d.pick(1, 1, 2, 3), d.pick(0, 0, 1, 2), d.pick(1, 1, 1, 1, 2, 3)
    extra = d.pick(0, 1) if transposed and stride > 1 else 0
    groups = 1
    if d.rng.random() < 0.15 and d.shape[1] % 2 == 0:
        groups, out = 2, d.pick(4, 8, 16)
    elif not transposed and d.rng.random() < 0.08:
        groups, out = d.shape[1], d.shape[1]
    if padding >= k:
        padding = 0
    sizes = []
    for s in d.shape[2:]:
        size = (
            (s - 1) * stride - 2 * padding + dilation * (k - 1) + extra + 1
            if transposed
            else (s + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        )
        sizes.append(size)
    if min(sizes) < 1 or max(sizes) > 40:
        return False
    options = [
        f"{name}={v}"
        for name, v, default in (
            ("stride", stride, 1),
            ("padding", padding, 0),
            ("output_padding", extra, 0),
            ("dilation", dilation, 1),
        )
        if v != default
    ]
    if ".functional." in api:
        a = d.argument(channels(d), d.shape[1])
        o = d.argument("out_channels", out)
        ks = ", ".join([str(k)] * n)
        first, second = (
            (a, f"{o} // {groups}" if groups > 1 else o) if transposed else (o, f"{a} // {groups}" if groups > 1 else a)
        )
        w = d.module("weight", f"nn.Parameter(torch.randn({first}, {second}, {ks}))")
        options += [f"groups={groups}"] if groups > 1 else []
        d.step(f"F.{short(api)}({', '.join([d.value, f'self.{w}', *options])})")
    else:
        a, o = (
            d.argument(channels(d), d.shape[1]),
            d.argument("out_channels" if out != d.shape[1] or groups == 1 else channels(d), out),
        )
        options += [f"groups={a if groups == d.shape[1] and groups > 2 else groups}"] if groups > 1 else []
        options += ["bias=False"] if d.rng.random() < 0.15 else []
        text = ", ".join([a, o, str(k), *options])
        d.step(f"self.{d.module('conv', f'nn.{short(api)}({text})')}({d.value})")
    d.shape = [d.shape[0], out, *sizes]
    return True


def pool(d: Draft, api: str) -> bool:
    n = int(api.lower().rstrip("d")[-1])
    if d.rank != n + 2 or min(d.shape[2:]) < 4:
        return False
    name = short(api)
    if "daptive" in api:
        size = d.pick(1, 1, 2, 3)
        d.shape = [*d.shape[:2], *[size] * n]
        if ".functional." in api:
            d.step(f"F.{name}({d.value}, {size})")
        else:
            d.step(f"self.{d.module('pool', f'nn.{name}({size})')}({d.value})")
        return True
    k = d.pick(2, 2, 3, 4)
    stride = d.pick(None, None, 1, 2, 3)
    padding = d.pick(0, 0, 1) if "lp" not in name.lower() else 0
    s = stride or k
    options = ([f"stride={stride}"] if stride else []) + ([f"padding={padding}"] if padding else [])
    if padding and "avg" in name.lower() and d.rng.random() < 0.3:
        options.append("count_include_pad=False")
    head = f"2, {k}" if "lp" in name.lower() else str(k)
    sizes = [(v + 2 * padding - k) // s + 1 for v in d.shape[2:]]
    if ".functional." in api:
        d.step(f"F.{name}({', '.join([d.value, head, *options])})")
    else:
        d.step(f"self.{d.module('pool', 'nn.' + name + '(' + ', '.join([head, *options]) + ')')}({d.value})")
    d.shape = [*d.shape[:2], *sizes]
    return True
