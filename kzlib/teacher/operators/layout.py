"""Layout: operators that move, repeat, cut or join elements and compute nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

from kzlib.teacher.draft import Draft
from kzlib.teacher.operators.common import short


def layout(d: Draft, api: str) -> bool:
    name = short(api)
    return d.rank >= 2 and name in CHANGES and CHANGES[name](d, name)


def turn(d: Draft, name: str) -> bool:
    """Two dimensions change places."""
    x, r = d.value, d.rank
    if name in ("t", "T") and r != 2:
        return False
    a, b = {"transpose": (1, 2) if r > 2 else (0, 1), "mT": (r - 2, r - 1)}.get(name, (0, 1))
    texts = {"transpose": f"torch.transpose({x}, {a}, {b})", "T": f"{x}.T", "mT": f"{x}.mT", "t": f"torch.t({x})"}
    d.step(texts.get(name, f"torch.rot90({x}, 1, (0, 1))"))
    d.shape[a], d.shape[b] = d.shape[b], d.shape[a]
    return True


def permute(d: Draft, name: str) -> bool:
    order = list(range(d.rank))
    d.rng.shuffle(order)
    d.step(f"torch.permute({d.value}, ({', '.join(map(str, order))}))")
    d.shape = [d.shape[o] for o in order]
    return True


def movedim(d: Draft, name: str) -> bool:
    d.step(f"torch.movedim({d.value}, 0, -1)")
    d.shape = [*d.shape[1:], d.shape[0]]
    return True


def flatten(d: Draft, name: str) -> bool:
    """All dimensions but the first become one."""
    x = d.value
    if d.rank < 3 or (name == "view" and d.lines):  # a view of what was computed may not be contiguous
        return False
    if name == "Flatten":
        d.step(f"self.{d.module('flatten', 'nn.Flatten()')}({x})")
    elif name == "flatten":
        d.step(f"torch.flatten({x}, 1)")
    else:
        d.step(f"{x}.view({x}.shape[0], -1)" if name == "view" else f"torch.reshape({x}, ({x}.shape[0], -1))")
    d.shape = [d.shape[0], math.prod(d.shape[1:])]
    return True


def ravel(d: Draft, name: str) -> bool:
    d.step(f"torch.ravel({d.value})")
    d.shape = [math.prod(d.shape)]
    return True


def unflatten(d: Draft, name: str) -> bool:
    if d.shape[1] % 2:
        return False
    half = d.shape[1] // 2
    if name == "unflatten":
        d.step(f"torch.unflatten({d.value}, 1, (2, {half}))")
    else:
        d.step(f"self.{d.module('unflatten', f'nn.Unflatten(1, (2, {half}))')}({d.value})")
    d.shape = [d.shape[0], 2, half, *d.shape[2:]]
    return True


def unsqueeze(d: Draft, name: str) -> bool:
    dim = d.pick(1, 2)
    d.step(f"torch.unsqueeze({d.value}, {dim})")
    d.shape.insert(dim, 1)
    return True


def squeeze(d: Draft, name: str) -> bool:
    if 1 not in d.shape:
        return False
    dim = d.shape.index(1)
    d.step(f"torch.squeeze({d.value}, {dim})")
    d.shape.pop(dim)
    return True


def at_least(d: Draft, name: str) -> bool:
    if name == "atleast_3d" and d.rank != 2:
        return False
    d.step(f"torch.{name}({d.value})")
    if name == "atleast_3d":
        d.shape.append(1)
    return True


def mirror(d: Draft, name: str) -> bool:
    """Elements move, or go, within the same shape."""
    x = d.value
    if name == "flip":
        d.step(f"torch.flip({x}, dims=({d.pick('1,', '0, 1', '-1,')}))")
    elif name == "roll":
        d.step(f"torch.roll({x}, shifts={d.pick(1, 2, 3)}, dims={d.pick(1, -1)})")
    else:
        d.step(f"torch.{name}({x}{d.pick('', ', diagonal=1') if name in ('tril', 'triu') else ''})")
    return True


def cat(d: Draft, name: str) -> bool:
    y = d.input(d.shape)
    dim = d.pick(0, 1, -1)
    d.step(f"torch.cat([{d.value}, {y}], dim={dim})")
    d.shape[dim] *= 2
    return True


def stack(d: Draft, name: str) -> bool:
    dim = d.pick(0, 1)
    d.step(f"torch.stack([{d.value}, {d.input(d.shape)}], dim={dim})")
    d.shape.insert(dim, 2)
    return True


def stack_matrices(d: Draft, name: str) -> bool:
    if d.rank != 2:
        return False
    d.step(f"torch.{name}([{d.value}, {d.input(d.shape)}])")
    d.shape[0 if name == "vstack" else 1] *= 2
    return True


def repeat(d: Draft, name: str) -> bool:
    """Twice as long along the last dimension; `repeat_interleave` along the second."""
    x, times = d.value, ", ".join(["1"] * (d.rank - 1) + ["2"])
    if name == "repeat_interleave":
        d.step(f"torch.repeat_interleave({x}, 2, dim=1)")
    else:
        d.step(f"{x}.repeat({times})" if name == "repeat" else f"torch.tile({x}, ({times}))")
    d.shape[1 if name == "repeat_interleave" else -1] *= 2
    return True


def expand(d: Draft, name: str) -> bool:
    x, copies = d.value, d.pick(2, 3)
    same = ", ".join(["-1"] * d.rank)
    d.step(f"{x}.expand({copies}, {same})" if name == "expand" else f"torch.broadcast_to({x}, ({copies}, *{x}.shape))")
    d.shape.insert(0, copies)
    return True


def narrow(d: Draft, name: str) -> bool:
    if d.shape[1] < 4:
        return False
    d.step(f"torch.narrow({d.value}, 1, 1, {d.shape[1] - 2})")
    d.shape[1] -= 2
    return True


def select(d: Draft, name: str) -> bool:
    if d.rank < 3:
        return False
    d.step(f"torch.select({d.value}, 1, {d.pick(0, 1)})")
    d.shape.pop(1)
    return True


def diagonal(d: Draft, name: str) -> bool:
    if d.rank != 2:
        return False
    d.step(f"torch.{name}({d.value})")
    d.shape = [*d.shape, d.shape[-1]] if name == "diag_embed" else [min(d.shape)]
    return True


def unbind(d: Draft, name: str) -> bool:
    if d.rank < 3 or d.shape[1] > 4:
        return False
    d.lines.append(f"parts = torch.unbind({d.value}, dim=1)")
    d.lines.append(f"{d.value} = parts[0] * parts[1]")
    d.shape.pop(1)
    return True


def halves(d: Draft, name: str) -> bool:
    """Two halves of the last dimension, joined again by arithmetic."""
    if d.shape[-1] % 2:
        return False
    x, half = d.value, d.shape[-1] // 2
    sizes = {"split": f"{half}", "split_with_sizes": f"[{half}, {half}]"}.get(name, "2")
    d.lines.append(f"a, b = torch.{name}({x}, {sizes}, dim=-1)")
    d.lines.append(f"{x} = a {d.pick('*', '+', '-')} b")
    d.shape[-1] = half
    return True


CHANGES: dict[str, Callable[[Draft, str], bool]] = {
    name: change
    for change, names in (
        (turn, "transpose t T mT rot90"),
        (permute, "permute"),
        (movedim, "movedim"),
        (flatten, "flatten Flatten view reshape"),
        (ravel, "ravel"),
        (unflatten, "unflatten Unflatten"),
        (unsqueeze, "unsqueeze"),
        (squeeze, "squeeze"),
        (at_least, "atleast_1d atleast_2d atleast_3d"),
        (mirror, "flip fliplr flipud roll tril triu"),
        (cat, "cat"),
        (stack, "stack"),
        (stack_matrices, "hstack vstack column_stack"),
        (repeat, "repeat tile repeat_interleave"),
        (expand, "expand broadcast_to"),
        (narrow, "narrow"),
        (select, "select"),
        (diagonal, "diagonal diag diag_embed"),
        (unbind, "unbind"),
        (halves, "chunk split tensor_split split_with_sizes"),
    )
    for name in names.split()
}
