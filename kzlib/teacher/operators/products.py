"""Products: matmul and its kin, linear, einsum, bilinear."""

from __future__ import annotations

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import WIDTHS, last


def linear(d: Draft, api: str) -> bool:
    if d.rank not in (2, 3, 4):
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
    if api in ("torch.mm", "torch.matmul") and d.rank == 2 and d.rng.random() < 0.2:  # the first operand turned
        d.step(_turned(d, d.value, 0, 1))
        d.shape = d.shape[::-1]
        y = d.input([d.shape[1], n], names=("batch", "columns"))
        d.step(f"{api}({d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api in ("torch.mm", "torch.matmul", "torch.inner") and d.rank == 2:
        if api == "torch.inner":
            y = d.input([n, d.shape[1]], names=("rows", "features"))
        elif d.rng.random() < 0.25:
            y = _turned(d, d.input([n, d.shape[1]], names=("rows", last(d))), 0, 1)
        else:
            y = d.input([d.shape[1], n], names=(last(d), "columns"))
        d.step(f"{api}({d.value}, {y})")
        d.shape = [d.shape[0], n]
    elif api == "torch.matmul" and d.rank in (3, 4) and d.rng.random() < 0.3:  # one matrix for all of the batch
        y = d.input([d.shape[-1], n], names=(last(d), "columns"))
        d.step(f"torch.matmul({d.value}, {y})")
        d.shape = [*d.shape[:-1], n]
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
    """x with another operand; any order of the letters on all three sides."""
    if d.rank not in (2, 3, 4):
        return False
    letters = d.rng.sample("abcdehijklmnpqstw", d.rank + 1)
    x, new = letters[:-1], letters[-1]
    size = dict(zip(x, d.shape, strict=True)) | {new: n}
    summed = d.pick(*x)
    shared = [c for c in x if c != summed and d.rng.random() < (0.5 if d.rank > 2 else 0.1)][: d.rank - 2]
    y = d.rng.sample([*shared, summed, new], len(shared) + 2)
    out = [*(c for c in x if c != summed), new]
    if d.rng.random() < 0.5:
        d.rng.shuffle(out)
    size_names = {c: f"size_{c}" for c in size}
    other = d.input([size[c] for c in y], names=tuple(size_names[c] for c in y))
    d.step(f'torch.einsum("{"".join(x)},{"".join(y)}->{"".join(out)}", {d.value}, {other})')
    d.shape = [size[c] for c in out]
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
