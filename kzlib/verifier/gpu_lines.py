"""The device's twin of `affine`: did a launch only copy, or move along one straight line, what it was given?

The interpreter compares what a program loaded and stored; a device only shows tensors before and after a launch, so
whole tensors are compared, in any order of their axes and as slices of each other. Source: issue 3; verifiers.md C8,
C9, C12.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import torch

from kzlib.verifier.affine import FEW, TOLERANCE, same_line

Line = tuple[float, float]
MAX_AXES = 4  # of which all orders are tried
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass(frozen=True, slots=True)
class Moved:
    """What one launch changed: how many of its tensors, and the line that explains all of it, if one does."""

    changed: int
    line: Line | None


def moved(before: Sequence[torch.Tensor], after: Sequence[torch.Tensor], made: Sequence[torch.Tensor] = ()) -> Moved:
    """Compare a launch's tensors with copies taken before it; `made` are tensors that it returned anew.

    >>> x, y = torch.tensor([1.0, 2.0, 4.0, 7.0]), torch.full((4,), float("nan"))
    >>> moved([x, y], [x, 2 * x + 1])
    Moved(changed=1, line=(2.0, 1.0))
    >>> moved([x, y], [x, x * x]).line is None
    True
    """
    found: list[Line | None] = []
    for old, new in zip(before, after, strict=True):
        places = differs(old, new)
        if bool(places.any()):
            found.append(_explained(old, new, places, before))
    for new in made:
        if new.numel():
            everywhere = torch.ones(new.numel(), dtype=torch.bool, device=new.device)
            found.append(_explained(None, new, everywhere, before))
    first = found[0] if found else None
    same = first is not None and all(one is not None and same_line(one, first) for one in found)
    return Moved(len(found), first if same else None)


def differs(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    """Which elements, in logical order, have other bits than before.

    >>> nan = float("nan")
    >>> differs(torch.tensor([nan, 1.0]), torch.tensor([nan, 2.0])).tolist()
    [False, True]
    """
    return (_bits(old) != _bits(new)).any(-1)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach().contiguous().reshape(-1)
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj())
    words = plain.view(_BITS[plain.element_size()])
    return words.reshape(tensor.numel(), -1) if tensor.numel() else words.reshape(0, 1)


def _explained(
    old: torch.Tensor | None, new: torch.Tensor, places: torch.Tensor, sources: Sequence[torch.Tensor]
) -> Line | None:
    """The line from one of the sources through everything that was stored.

    What has the same bits as before may have been stored all the same (a value that a clamp lets stand, a maximum that
    equals the pattern), so it must fit too, unless it is pattern still: no number.
    """
    if new.is_complex():
        return None
    values = new.detach().reshape(-1)
    rest = None if old is None else old.detach().reshape(-1)[~places]
    if rest is not None and rest.numel() and (not rest.is_floating_point() or bool(torch.isfinite(rest).any())):
        places = torch.ones_like(places)
    stored = values[places]
    if stored.numel() >= FEW and bool(places.all()) and bool((stored == stored[0]).all()):
        return 0.0, float(stored[0])
    for source in sources:
        if source.is_complex():
            continue
        if source.numel() == new.numel():
            if any((found := line(flat[places], stored)) for flat in orders(source)):
                return found
        elif source.numel() == stored.numel():
            if any((found := line(flat, stored)) for flat in orders(source)):
                return found
        elif FEW <= stored.numel() < source.numel() and _is_slice(stored, source):
            return 1.0, 0.0
    return None


def orders(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """A tensor's elements in one row, for every order of its axes; as it is first.

    >>> [o.tolist() for o in orders(torch.tensor([[1, 2], [3, 4]]))]
    [[1, 2, 3, 4], [1, 3, 2, 4]]
    """
    axes = [axis for axis, size in enumerate(tensor.shape) if size != 1]
    plain = tensor.detach()
    if not 2 <= len(axes) <= MAX_AXES:
        yield plain.reshape(-1)
        return
    rest = [axis for axis in range(plain.dim()) if axis not in axes]
    for order in permutations(axes):
        yield plain.permute(*order, *rest).reshape(-1)


def _is_slice(stored: torch.Tensor, source: torch.Tensor) -> bool:
    """True when the values are one of the equal pieces that the source falls into, along any of its axes."""
    for flat in orders(source):
        if flat.numel() % stored.numel() == 0 and bool((flat.view(-1, stored.numel()) == stored).all(1).any()):
            return True
    return False


def line(loaded: torch.Tensor, stored: torch.Tensor) -> Line | None:
    """(slope, offset) when `stored` is slope x `loaded` + offset in every element, else None; see `affine.line`.

    >>> x = torch.tensor([1.0, 2.0, 4.0, 7.0])
    >>> line(x, 3 - x), line(x, x.exp())
    ((-1.0, 3.0), None)
    """
    x, y = loaded.double(), stored.double()
    if x.numel() != y.numel() or not bool(torch.isfinite(y).all()):
        return None
    if x.numel() < FEW:
        return (1.0, 0.0) if torch.equal(x, y) else None
    if not bool(torch.isfinite(x).all()):
        return None
    low, high = x.argmin(), x.argmax()
    x0, x1, y0, y1 = torch.stack([x[low], x[high], y[low], y[high]]).tolist()
    if x1 == x0:
        return None
    slope = (y1 - y0) / (x1 - x0)
    offset = y0 - slope * x0
    size = max(float(y.abs().max()), abs(offset), 1e-300)
    width = stored.dtype.itemsize if stored.is_floating_point() else 4
    off = float((slope * x + offset - y).abs().max())
    return (slope, offset) if off <= TOLERANCE.get(width, 1e-5) * size else None
