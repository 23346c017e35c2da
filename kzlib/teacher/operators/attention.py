"""Attention."""

from __future__ import annotations

from kzlib.teacher.draft import Draft


def attention(d: Draft, api: str) -> bool:
    x, s = d.value, d.shape
    if api == "torch.nn.functional.scaled_dot_product_attention":
        if d.rank not in (3, 4):
            return False
        names = ("batch", "length", "features") if d.rank == 3 else ("batch", "heads", "length", "features")
        y, z = d.input(s, names=names), d.input(s, names=names)
        causal = d.pick("", ", is_causal=True")
        d.step(f"F.scaled_dot_product_attention({x}, {y}, {z}{causal})")
        return True
    if api == "torch.nn.MultiheadAttention":
        if d.rank != 3 or s[-1] % 2:
            return False
        a = d.argument("features", s[-1])
        m = d.module("attention", f"nn.MultiheadAttention({a}, 2, batch_first=True)")
        d.step(f"self.{m}({x}, {x}, {x}, need_weights=False)[0]")
        return True
    return False
