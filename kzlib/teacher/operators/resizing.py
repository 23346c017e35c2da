"""Padding and resampling."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import short


def pad(d: Draft, api: str) -> bool:
    name, x, s = short(api), d.value, d.shape
    if name == "pad":
        if d.rank < 3:
            return False
        mode = d.pick("constant", "constant", "reflect", "replicate")
        a, b = d.pick((1, 1), (1, 2), (2, 0))
        tail = "" if mode == "constant" else f', mode="{mode}"'
        if mode != "constant" and d.rank not in (3, 4):
            return False
        if d.rank == 4 and mode != "constant":
            d.step(f"F.pad({x}, ({a}, {b}, {b}, {a}){tail})")
            s[-2] += a + b
        else:
            d.step(f"F.pad({x}, ({a}, {b}){tail})")
        s[-1] += a + b
        return s[-1] > 3
    n = int(name[-2])
    if d.rank != n + 2 or min(s[2:]) < 4:
        return False
    width = d.pick(1, 2)
    value = f", {d.constant()}" if name.startswith("Constant") else ""
    d.step(f"self.{d.module('pad', f'nn.{name}({width}{value})')}({x})")
    d.shape = [*s[:2], *(v + 2 * width for v in s[2:])]
    return True


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
        mode = d.pick("nearest", "bilinear", "nearest")
        tail = f', mode="{mode}"' + (", align_corners=False" if mode == "bilinear" else "")
        d.step(f"F.interpolate({x}, scale_factor=2{tail})")
    elif name == "Upsample":
        d.step(f"self.{d.module('up', 'nn.Upsample(scale_factor=2)')}({x})")
    else:
        d.step(f"self.{d.module('up', f'nn.{name}(scale_factor=2)')}({x})")
    d.shape = [*s[:2], s[2] * 2, s[3] * 2]
    return True
