"""Padding and resampling."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import short
from kzlib.teacher.operators.windows import text_of


def pad(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    if name == "pad":
        if d.rank < 3:
            return False
        mode = d.pick("constant", "constant", "reflect", "replicate")
        if mode != "constant" and d.rank not in (3, 4):
            return False
        axes = d.rank - 2 if mode != "constant" else d.pick(*range(1, d.rank))  # the last ones
        most = min(4, min(s[-axes:]) - 1)
        widths = [d.pick(*range(most + 1)) for _ in range(2 * axes)]
        tail = f', mode="{mode}"' if mode != "constant" else d.pick("", "", f", value={d.constant()}")
        d.step(f"F.pad({x}, ({', '.join(map(str, widths))}){tail})")
        for axis in range(axes):
            s[-1 - axis] += sum(widths[2 * axis : 2 * axis + 2])
        return sum(widths) > 0
    n = int(name[-2])
    if d.rank != n + 2 or min(s[2:]) < 4:
        return False
    widths = [d.pick(1, 2, 3)] * (2 * n) if d.rng.random() < 0.5 else [d.pick(0, 1, 2, 3) for _ in range(2 * n)]
    value = f", {d.constant()}" if name.startswith("Constant") else ""
    d.step(f"self.{d.module('pad', f'nn.{name}({text_of(widths)}{value})')}({x})")
    d.shape = [*s[:2], *(v + widths[2 * k] + widths[2 * k + 1] for k, v in zip(reversed(range(n)), s[2:], strict=True))]
    return sum(widths) > 0


def resize(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    if name in ("pixel_shuffle", "PixelShuffle", "pixel_unshuffle", "PixelUnshuffle"):
        down = "nshuffle" in name
        if d.rank != 4 or (s[1] % 4 if not down else (s[2] % 2 or s[3] % 2)):
            return False
        if name[0] == "P":
            d.step(f"self.{d.module('shuffle', f'nn.{name}(2)')}({x})")
        else:
            d.step(f"F.{name}({x}, 2)")
        d.shape = [s[0], s[1] * 4, s[2] // 2, s[3] // 2] if down else [s[0], s[1] // 4, s[2] * 2, s[3] * 2]
        return True
    if name in ("unfold", "Unfold"):
        if d.rank != 4:
            return False
        k, st = d.pick(2, 3), d.pick(1, 2)
        if name == "Unfold":
            d.step(f"self.{d.module('unfold', f'nn.Unfold({k}, stride={st})')}({x})")
        else:
            d.step(f"F.unfold({x}, {k}, stride={st})")
        rows = [(v - k) // st + 1 for v in s[2:]]
        d.shape = [s[0], s[1] * k * k, rows[0] * rows[1]]
        return d.shape[1] * d.shape[2] < 4000
    if d.rank != 4 or max(s[2:]) > 16:
        return False
    if name == "interpolate":
        tail, times = _mode(d), d.pick(2, 2, 3)
        d.step(f"F.interpolate({x}, scale_factor={times}{tail})")
    elif name == "Upsample":
        tail, times = _mode(d), d.pick(2, 2, 3)
        d.step(f"self.{d.module('up', f'nn.Upsample(scale_factor={times}{tail})')}({x})")
    else:
        times = 2
        d.step(f"self.{d.module('up', f'nn.{name}(scale_factor=2)')}({x})")
    d.shape = [*s[:2], s[2] * times, s[3] * times]
    return True


def _mode(d: Draft) -> str:
    return d.pick(
        "", ', mode="nearest"', ', mode="bilinear", align_corners=False', ', mode="bilinear", align_corners=True'
    )
