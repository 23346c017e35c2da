"""What people write by hand instead of calling one API: norms, gates, scores, residuals. Data first, then one writer.

A row: ranks it fits, lines (the value is `{x}`), the APIs it uses, what the result is. Placeholders: {c} {s} constants,
{eps} a small one, {dim} a dimension, {y} {z} other inputs like x, {yt} one to be multiplied with from the right (its rows
are x's last dimension), {row} one a column of x, {w} {v} layers of one width, {scale} {bias} weights a channel.
Results: same; gone, the dimension is reduced; one, a number; pairs, of rows (pairs1: of columns); wide, the layers'
width; pixels, all but the first two dimensions are reduced.
"""

# ruff: noqa: E501 - a table

from __future__ import annotations

from dataclasses import dataclass

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import WIDTHS, channels, last

ROWS = """
234 | {x} / torch.sqrt(torch.mean({x} * {x}, dim={dim}, keepdim=True) + {eps}) | torch.sqrt torch.mean | same
234 | {x} * torch.rsqrt(torch.mean(torch.square({x}), dim={dim}, keepdim=True) + {eps}) | torch.rsqrt torch.mean torch.square | same
234 | {x} / (torch.sum(torch.abs({x}), dim={dim}, keepdim=True) + {eps}) | torch.sum torch.abs | same
234 | {x} / (torch.norm({x}, p=2, dim={dim}, keepdim=True) + {eps}) | torch.norm | same
234 | {x} - torch.mean({x}, dim={dim}, keepdim=True) | torch.mean | same
234 | {x} - torch.amax({x}, dim={dim}, keepdim=True) | torch.amax | same
234 | ({x} - torch.mean({x}, dim={dim}, keepdim=True)) / (torch.std({x}, dim={dim}, keepdim=True) + {eps}) | torch.mean torch.std | same
234 | ({x} - torch.mean({x}, dim={dim}, keepdim=True)) * torch.rsqrt(torch.var({x}, dim={dim}, keepdim=True, unbiased=False) + {eps}) | torch.mean torch.var torch.rsqrt | same
234 | torch.exp({x} - torch.amax({x}, dim={dim}, keepdim=True)) ; {x} / torch.sum({x}, dim={dim}, keepdim=True) | torch.exp torch.amax torch.sum | same
234 | F.softmax({x}, dim={dim}) ; -torch.sum({x} * torch.log({x} + 1e-6), dim={dim}) | torch.nn.functional.softmax torch.sum torch.log | gone
234 | torch.log(torch.sum(torch.exp({x}), dim={dim}) + {c}) | torch.log torch.sum torch.exp | gone
234 | torch.sqrt(torch.sum({x} * {x}, dim={dim}) + {eps}) | torch.sqrt torch.sum | gone
234 | {x} * F.softmax({x}, dim={dim}) | torch.nn.functional.softmax | same
12345 | {x} * torch.sigmoid({x}) | torch.sigmoid | same
12345 | {x} * torch.sigmoid({c} * {x}) | torch.sigmoid | same
12345 | {x} / ({c} + torch.abs({x})) | torch.abs | same
12345 | 0.5 * {x} * (1.0 + torch.tanh({c} * ({x} + {s} * {x} * {x} * {x}))) | torch.tanh | same
12345 | 0.5 * {x} * (1.0 + torch.erf({x} / 1.4142)) | torch.erf | same
12345 | {x} * torch.tanh(F.softplus({x})) | torch.tanh torch.nn.functional.softplus | same
12345 | torch.log({c} + torch.exp(-torch.abs({x}))) + F.relu({x}) | torch.log torch.exp torch.abs torch.nn.functional.relu | same
12345 | {x} * torch.clamp({x} + {c}, min=0.0, max=6.0) / 6.0 | torch.clamp | same
12345 | F.relu({x}) - {s} * F.relu(-{x}) | torch.nn.functional.relu | same
12345 | torch.sigmoid({x}) + {x} | torch.sigmoid | same
1234 | {x} * torch.sigmoid({y}) | torch.sigmoid | same
1234 | {x} * F.silu({y}) | torch.nn.functional.silu | same
1234 | F.gelu({x}) * {y} | torch.nn.functional.gelu | same
1234 | {c} * {x} + (1.0 - {c}) * {y} | | same
1234 | ({x} + {y}) * {c} | | same
1234 | {x} - {y} ; {x} * {x} | | same
1234 | {x} * {y} + {z} | | same
1234 | torch.tanh({x} + {y}) - {z} | torch.tanh | same
234 | {x} * {row} | | same
234 | {x} + {row} | | same
234 | {x} * {row} + {y} | | same
234 | {x} * self.{scale} + self.{bias} | | same
234 | {x} + self.{bias} | | same
1234 | torch.mean(torch.square({x} - {y})) | torch.mean torch.square | one
1234 | torch.mean(torch.abs({x} - {y})) | torch.mean torch.abs | one
1234 | torch.mean(torch.clamp({c} - {x} * {y}, min=0)) | torch.mean torch.clamp | one
1234 | torch.sum(F.relu({c} + {x} - {y})) | torch.sum torch.nn.functional.relu | one
234 | torch.sum({x} * {y}, dim={dim}) | torch.sum | gone
234 | torch.mean({x} * {y}, dim={dim}, keepdim=True) * {x} | torch.mean | same
23 | torch.cumsum({x}, dim=1) - {x} | torch.cumsum | same
23 | torch.cumsum({x} * {y}, dim=-1) | torch.cumsum | same
23 | torch.flip(torch.cumsum(torch.flip({x}, dims=(1,)), dim=1), dims=(1,)) | torch.cumsum torch.flip | same
2 | torch.matmul({x}, {yt}) + {x}[:, :1] | torch.matmul | wide
2 | torch.matmul({x}, torch.transpose({x}, 0, 1)) * {s} | torch.matmul torch.transpose | pairs
2 | torch.matmul(torch.transpose({x}, 0, 1), {x}) * {s} | torch.matmul torch.transpose | pairs1
2 | torch.tril(torch.matmul({x}, torch.transpose({x}, 0, 1))) | torch.tril torch.matmul torch.transpose | pairs
3 | torch.matmul({x}, torch.transpose({x}, 1, 2)) * {s} | torch.matmul torch.transpose | pairs
3 | F.softmax(torch.matmul({x}, torch.transpose({y}, 1, 2)) * {s}, dim=-1) ; torch.matmul({x}, {z}) | torch.nn.functional.softmax torch.matmul torch.transpose | same
3 | torch.matmul({x}, {yt}) | torch.matmul | wide
23 | F.silu(self.{w}({x})) * self.{v}({x}) | torch.nn.functional.silu torch.nn.Linear | wide
23 | self.{w}({x}) * torch.sigmoid(self.{v}({x})) | torch.sigmoid torch.nn.Linear | wide
23 | torch.tanh(self.{w}({x})) + self.{v}({x}) | torch.tanh torch.nn.Linear | wide
4 | torch.mean({x}, dim=(2, 3)) | torch.mean | pixels
4 | torch.mean({x}, dim=(2, 3), keepdim=True) * {x} | torch.mean | same
4 | torch.amax({x}, dim=(2, 3)) - torch.mean({x}, dim=(2, 3)) | torch.amax torch.mean | pixels
"""

DIVIDING = ("/ (torch.std", "rsqrt(torch.var")  # the spread of a constant is noise


@dataclass(frozen=True, slots=True)
class Idiom:
    ranks: str
    lines: tuple[str, ...]
    apis: tuple[str, ...]
    gives: str


def _read() -> tuple[Idiom, ...]:
    rows = []
    for line in ROWS.strip().splitlines():
        ranks, text, apis, gives = (part.strip() for part in line.split("|"))
        rows.append(Idiom(ranks, tuple(part.strip() for part in text.split(";")), tuple(apis.split()), gives))
    return tuple(rows)


IDIOMS = _read()


def idiom(d: Draft, saturated: bool) -> bool:
    """Write one of them; False if none fits. `saturated`: values may be constant by now, so nothing divides by spread."""
    fitting = [
        i for i in IDIOMS if str(d.rank) in i.ranks and not (saturated and any(p in i.lines[0] for p in DIVIDING))
    ]
    return bool(fitting) and not d.grown and write(d, d.rng.choice(fitting))


def write(d: Draft, found: Idiom) -> bool:
    """The idiom's lines, inputs and layers in the draft; False if a dimension is too short for it."""
    text = "\n".join(found.lines)
    dim = d.pick(1, -1, -1) if d.rank > 1 else -1
    if "{dim}" in text and d.shape[dim] < 3:
        return False
    table: dict[str, object] = {
        "x": d.value, "c": d.constant(), "s": d.small(), "eps": d.pick(1e-6, 1e-5, 1e-4, 1e-3), "dim": dim,
    }  # fmt: skip
    width = d.pick(*WIDTHS)
    shapes = {"y": d.shape, "z": d.shape, "row": d.shape[-1:], "yt": [d.shape[-1], width]}
    for name, shape in shapes.items():
        if "{" + name + "}" in text:
            table[name] = d.input(shape)
    for name in ("w", "v"):
        if "{" + name + "}" in text:
            a, o = d.argument(last(d), d.shape[-1]), d.argument("out_features", width)
            table[name] = d.module("fc", f"nn.Linear({a}, {o})")
    for name in ("scale", "bias"):
        if "{" + name + "}" in text:
            table[name] = _per_channel(d, name)
    for line in found.lines:
        d.step(line.format(**table))
    for api in found.apis:
        d.note(api, "matmul" if api in ("torch.matmul", "torch.nn.Linear") else "elementwise")
    _reshape(d, found.gives, dim, width)
    d.exact, d.range = False, "any"
    return True


def _per_channel(d: Draft, name: str) -> str:
    if d.rank == 2:
        return d.module(name, f"nn.Parameter(torch.randn({d.argument(last(d), d.shape[1])}))")
    ones = ", ".join(["1"] * (d.rank - 2))
    return d.module(name, f"nn.Parameter(torch.randn({d.argument(channels(d), d.shape[1])}, {ones}))")


def _reshape(d: Draft, gives: str, dim: int, width: int) -> None:
    if gives == "gone":
        del d.shape[dim]
    elif gives == "one":
        d.shape, d.done = [], True
    elif gives == "pairs":
        d.shape[-1] = d.shape[-2]
    elif gives == "pairs1":
        d.shape[-2] = d.shape[-1]
    elif gives == "wide":
        d.shape[-1] = width
    elif gives == "pixels":
        d.shape = d.shape[:2]
