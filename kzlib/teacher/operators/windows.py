"""Sliding windows: convolutions, transposed ones, pooling."""

from __future__ import annotations

from collections.abc import Sequence

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import CHANNELS, channels, short


def text_of(sizes: Sequence[int]) -> str:
    """One number where all axes agree.

    >>> text_of([3, 3]), text_of([1, 3])
    ('3', '(1, 3)')
    """
    return str(sizes[0]) if len(set(sizes)) == 1 else f"({', '.join(map(str, sizes))})"


def _by_axis(d: Draft, n: int, apart: bool, *options: int) -> list[int]:
    """A setting for each of `n` axes; mostly the same for all unless `apart`."""
    return [d.pick(*options) for _ in range(n)] if apart else [d.pick(*options)] * n


def conv(d: Draft, api: str) -> bool:
    n = int(api[-2])
    if d.rank != n + 2:
        return False
    transposed = "ranspose" in api
    apart = n > 1 and d.rng.random() < 0.3
    out, kernel = d.pick(*CHANNELS), _by_axis(d, n, apart, 1, 2, 3, 3, 3, 3, 4, 5)
    if any(s < k + 1 for s, k in zip(d.shape[2:], kernel, strict=True)):
        return False
    stride = _by_axis(d, n, apart, 1, 1, 2, 3)
    padding = _by_axis(d, n, apart, 0, 0, 1, 2, 3)
    dilation = _by_axis(d, n, apart and d.rng.random() < 0.5, 1, 1, 1, 1, 2, 3)
    extra = [d.pick(0, 1) if transposed and s > 1 else 0 for s in stride]
    if not apart:
        extra = extra[:1] * n
    groups = 1
    if d.rng.random() < 0.15 and d.shape[1] % 2 == 0:
        groups, out = 2, d.pick(4, 8, 16)
    elif not transposed and d.rng.random() < 0.08:
        groups, out = d.shape[1], d.shape[1]
    sizes = [
        (s - 1) * step - 2 * p + gap * (k - 1) + more + 1 if transposed else (s + 2 * p - gap * (k - 1) - 1) // step + 1
        for s, k, step, p, gap, more in zip(d.shape[2:], kernel, stride, padding, dilation, extra, strict=True)
    ]
    if min(sizes) < 1 or max(sizes) > 40:
        return False
    options = [
        f"{name}={text_of(values)}"
        for name, values, default in (
            ("stride", stride, 1),
            ("padding", padding, 0),
            ("output_padding", extra, 0),
            ("dilation", dilation, 1),
        )
        if set(values) != {default}
    ]
    if ".functional." in api:
        a = d.argument(channels(d), d.shape[1])
        o = d.argument("out_channels", out)
        ks = ", ".join(map(str, kernel))
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
        options += ["bias=False"] if d.rng.random() < 0.25 else []
        text = ", ".join([a, o, text_of(kernel), *options])
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
    power = "lp" in name.lower()
    apart = n > 1 and not power and d.rng.random() < 0.2
    kernel = _by_axis(d, n, apart, 2, 2, 3, 4)
    steps = None if d.rng.random() < 0.4 else _by_axis(d, n, apart, 1, 2, 3)
    padding = [0] * n if power or d.rng.random() < 0.6 else [min(d.pick(1, 1, 2), k // 2) for k in kernel]
    padding = padding if apart else padding[:1] * n
    options = ([f"stride={text_of(steps)}"] if steps else []) + (
        [f"padding={text_of(padding)}"] if any(padding) else []
    )
    dilation = 1
    if "max" in name.lower() and d.rng.random() < 0.2:
        dilation = d.pick(2, 3)
        options.append(f"dilation={dilation}")
    if any(padding) and "avg" in name.lower() and d.rng.random() < 0.3:
        options.append("count_include_pad=False")
    head = f"2, {kernel[0]}" if power else text_of(kernel)
    sizes = [
        (v + 2 * p - dilation * (k - 1) - 1) // s + 1
        for v, k, s, p in zip(d.shape[2:], kernel, steps or kernel, padding, strict=True)
    ]
    if min(sizes) < 1:
        return False
    if ".functional." in api:
        d.step(f"F.{name}({', '.join([d.value, head, *options])})")
    else:
        d.step(f"self.{d.module('pool', 'nn.' + name + '(' + ', '.join([head, *options]) + ')')}({d.value})")
    d.shape = [*d.shape[:2], *sizes]
    return True
