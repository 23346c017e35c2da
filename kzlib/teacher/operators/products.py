"""Products: matmul and its kin, linear, einsum, bilinear."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import WIDTHS, last


def linear(d: Draft, api: str) -> bool:
    if d.rank not in (2, 3):
        return False
    out = d.pick(*WIDTHS)
    a, o = d.argument(last(d), d.shape[-1]), d.argument("out_features", out)
    if api == "torch.nn.Linear":
        extra = ", bias=False" if d.rng.random() < 0.2 else ""
        d.step(f"self.{d.module('fc', f'nn.Linear({a}, {o}{extra})')}({d.value})")
    else:
        w = d.module("weight", f"nn.Parameter(torch.randn({o}, {a}))")
        b = d.module("bias", f"nn.Parameter(torch.randn({o}))")
        d.step(f"F.linear({d.value}, self.{w}, self.{b})")
    d.shape[-1] = out
    return True


def _turned(d: Draft, y: str, a: int, b: int) -> str:
    """The second operand of a product given the other way round."""
    if a == 0 and d.rng.random() < 0.4:
        d.note("torch.t", "matmul")
        return f"{y}.t()"
    d.note("torch.transpose", "matmul")
    return f"torch.transpose({y}, {a}, {b})"


def matmul(d: Draft, api: str) -> bool:
    n = d.pick(*WIDTHS)
    if api in ("torch.mm", "torch.matmul", "torch.inner") and d.rank == 2:
        if api == "torch.inner":
            y = d.input([n, d.shape[1]], names=("rows", "features"))
        elif d.rng.random() < 0.25:
            y = _turned(d, d.input([n, d.shape[1]], names=("rows", last(d))), 0, 1)
        else:
            y = d.input([d.shape[1], n], names=(last(d), "columns"))
        d.step(f"{api}({d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api in ("torch.bmm", "torch.matmul") and d.rank == 3:
        if d.rng.random() < 0.25:
            y = _turned(d, d.input([d.shape[0], n, d.shape[2]], names=("batch", "rows", last(d))), 1, 2)
        else:
            y = d.input([d.shape[0], d.shape[2], n], names=("batch", last(d), "columns"))
        d.step(f"{api}({d.value}, {y})")
        d.shape = [d.shape[0], d.shape[1], n]
    elif api == "torch.mv" and d.rank == 2:
        y = d.input([d.shape[1]], names=(last(d),))
        d.step(f"torch.mv({d.value}, {y})")
        d.shape = [d.shape[0]]
    elif api == "torch.addmm" and d.rank == 2:
        y = d.input([d.shape[1], n], names=(last(d), "columns"))
        b = d.module("bias", f"nn.Parameter(torch.randn({d.argument('columns', n)}))")
        d.step(f"torch.addmm(self.{b}, {d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api == "torch.baddbmm" and d.rank == 3:
        y = d.input([d.shape[0], d.shape[2], n], names=("batch", last(d), "columns"))
        z = d.input([d.shape[0], d.shape[1], n], names=("batch", "length", "columns"))
        d.step(f"torch.baddbmm({z}, {d.value}, {y})")
        d.shape = [d.shape[0], d.shape[1], n]
    elif api == "torch.outer" and d.rank == 1:
        y = d.input([n], names=("columns",))
        d.step(f"torch.outer({d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api == "torch.dot" and d.rank == 1:
        y = d.input(d.shape, names=("length",))
        d.step(f"torch.dot({d.value}, {y})")
        d.shape = []
    elif api == "torch.tensordot" and d.rank == 3:
        y = d.input([d.shape[2], n], names=(last(d), "columns"))
        d.step(f"torch.tensordot({d.value}, {y}, dims=1)")
        d.shape = [*d.shape[:2], n]
    elif api == "torch.linalg.multi_dot" and d.rank == 2:
        y = d.input([d.shape[1], n], names=(last(d), "columns"))
        d.step(f"torch.linalg.multi_dot([{d.value}, {y}])")
        d.shape = [d.shape[0], n]
    elif api == "torch.einsum":
        return einsum(d, n)
    else:
        return False
    return True


def einsum(d: Draft, n: int) -> bool:
    if d.rank == 2:
        y = d.input([n, d.shape[1]], names=("rows", last(d)))
        d.step(f'torch.einsum("bc,rc->br", {d.value}, {y})')
        d.shape = [d.shape[0], n]
    elif d.rank == 3:
        y = d.input([d.shape[0], n, d.shape[2]], names=("batch", "rows", last(d)))
        d.step(f'torch.einsum("btc,bsc->bts", {d.value}, {y})')
        d.shape = [d.shape[0], d.shape[1], n]
    elif d.rank == 4:
        y = d.input([d.shape[3], n], names=("width", "columns"))
        d.step(f'torch.einsum("bhtd,de->bhte", {d.value}, {y})')
        d.shape = [*d.shape[:3], n]
    else:
        return False
    return True


def bilinear(d: Draft, api: str) -> bool:
    if d.rank != 2:
        return False
    n, k = d.pick(4, 6, 9), d.pick(5, 8)
    y = d.input([d.shape[0], k], names=("batch", "other"))
    a, b, o = d.argument(last(d), d.shape[1]), d.argument("other", k), d.argument("out_features", n)
    if api == "torch.nn.Bilinear":
        d.step(f"self.{d.module('bilinear', f'nn.Bilinear({a}, {b}, {o})')}({d.value}, {y})")
    else:
        w = d.module("weight", f"nn.Parameter(torch.randn({o}, {a}, {b}))")
        d.step(f"F.bilinear({d.value}, {y}, self.{w})")
    d.shape = [d.shape[0], n]
    return True
