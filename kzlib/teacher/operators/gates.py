"""Gates with a state or a split: GLU and PReLU."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import channels, last


def glu(d: Draft, api: str) -> bool:
    if d.rank < 2 or d.shape[-1] % 2:
        return False
    if api == "torch.nn.GLU":
        d.step(f"self.{d.module('glu', 'nn.GLU()')}({d.value})")
    else:
        d.step(f"F.glu({d.value}, dim=-1)")
    d.shape[-1] //= 2
    return True


def prelu(d: Draft, api: str) -> bool:
    if d.rank < 2:
        return False
    a = d.argument(
        channels(d) if d.rank > 3 else {2: last(d), 3: "length"}[d.rank] if d.rank in (2, 3) else "channels",
        d.shape[1],
    )
    if api == "torch.nn.PReLU":
        d.step(f"self.{d.module('act', f'nn.PReLU({a})')}({d.value})")
    else:
        w = d.module("slope", f"nn.Parameter(torch.randn({a}))")
        d.step(f"F.prelu({d.value}, self.{w})")
    return True
