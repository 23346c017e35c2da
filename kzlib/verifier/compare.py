"""Is this output the reference's? Pure functions on trees of tensors; the yardstick is a float64 run.

A floating output passes when its error against float64 stays within a factor of the reference's own native error plus a
small floor scaled by the output's size, both for the largest and for the root-mean-square error. Whole numbers and
booleans must be equal. Source: DESIGN section 6, point 5; reports P01; verifiers.md R1-R19, B22-B35.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Budget:
    """Allowed error: `factor` x native error, plus floors in epsilons of the type times |value| and times RMS."""

    factor: float = 8.0
    rms_factor: float = 6.0
    floor_value: float = 128.0
    floor_rms: float = 256.0
    mean_floor: float = 96.0


# Epsilons of the declared precision mode: the type of the output, never a coarser one used inside.
EPSILON = {
    torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7,
    torch.float8_e4m3fn: 2.0**-3, torch.float8_e5m2: 2.0**-2,
}  # fmt: skip
# fp16 and bf16 outputs are rounded to the type itself, so a few of its epsilons are all that differs.
HALF = Budget(factor=3.0, rms_factor=3.0, floor_value=1.5, floor_rms=1.0, mean_floor=0.75)
STRICT = Budget()
CHUNK = 1 << 24  # elements compared at once: about fifteen float64 temporaries of them are held, 2 GiB
# Where float64 cannot be had: both sides carry an unknown error of the type itself.
NATIVE_ONLY = Budget(factor=0.0, rms_factor=0.0, floor_value=1024.0, floor_rms=2048.0, mean_floor=768.0)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why two outputs differ, in words a reader can act on; `figures` for the evidence."""

    reason: str
    figures: dict[str, float]


def compare(
    output: Any,
    native: Any,
    exact: Any | None = None,
    bent: Any | None = None,
    budget: Budget = STRICT,
    path: str = "output",
    kept: dict[str, Yard] | None = None,
) -> Mismatch | None:
    """None when `output` is as good as `native`; structure, shapes and types are part of the answer.

    `exact` is the float64 answer, `bent` the float64 answer for inputs one epsilon away. `kept` is filled with what was
    worked out from these, for the next comparison with the same ones.

    >>> x = torch.tensor([1.0, 2.0])
    >>> compare(x + 1e-7, x, x.double()) is None
    True
    >>> compare(torch.zeros(2), x, x.double()).reason[:8]
    '2 of 2 e'
    """
    if isinstance(native, torch.Tensor):
        if not isinstance(output, torch.Tensor):
            return Mismatch(f"{path} is a {type(output).__name__}, the reference returns a tensor", {})
        return _tensor(output, native, exact, bent, budget, path, kept)
    if isinstance(native, list | tuple):
        if not isinstance(output, list | tuple) or len(output) != len(native):
            return Mismatch(f"{path} should hold {len(native)} values", {})
        yards = zip(_items(exact, len(native)), _items(bent, len(native)), strict=True)
        rows = enumerate(zip(output, native, yards, strict=True))
        return next((m for i, (o, n, (e, b)) in rows if (m := compare(o, n, e, b, budget, f"{path}[{i}]", kept))), None)
    if isinstance(native, dict):
        if not isinstance(output, dict) or output.keys() != native.keys():
            return Mismatch(f"{path} should have the keys {sorted(map(str, native))}", {})
        one, two = (t if isinstance(t, dict) else {} for t in (exact, bent))
        found = (compare(output[k], native[k], one.get(k), two.get(k), budget, f"{path}[{k!r}]", kept) for k in native)
        return next((m for m in found if m), None)
    return _scalar(output, native, exact, budget, path)


def _items(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) and len(value) == count else [None] * count


def _scalar(output: Any, native: Any, exact: Any, budget: Budget, path: str) -> Mismatch | None:
    if isinstance(native, float | complex) and isinstance(output, float | complex | int):
        wide = torch.complex128 if isinstance(native, complex) else torch.float64
        yard = exact if isinstance(exact, float | complex) else native
        if isinstance(output, int) and abs(output) >= 1 << 1000:
            return Mismatch(f"{path} is a whole number beyond any float", {})
        out, near, right = (torch.view_as_real(t) if t.is_complex() else t
                            for t in (torch.tensor([v], dtype=wide) for v in (output, native, yard)))  # fmt: skip
        return _floats([out, near, right, right], torch.float32, budget, path)
    if type(output) is not type(native) or output != native:
        return Mismatch(f"{path} is {output!r:.40}, the reference returns {native!r:.40}", {})
    return None


def _tensor(
    output: torch.Tensor,
    native: torch.Tensor,
    exact: Any,
    bent: Any,
    budget: Budget,
    path: str,
    kept: dict[str, Yard] | None = None,
) -> Mismatch | None:
    if output.shape != native.shape:
        return Mismatch(f"{path} has shape {tuple(output.shape)}, the reference's is {tuple(native.shape)}", {})
    if output.dtype != native.dtype:
        return Mismatch(f"{path} has type {_name(output)}, the reference's is {_name(native)}", {})
    if not isinstance(exact, torch.Tensor) or exact.shape != native.shape:
        exact = None
    if not output.numel():
        return None
    output = output.to(native.device)  # one number may come from the host
    if not (output.is_floating_point() or output.is_complex()):
        return _whole(output, native, exact, path)
    if exact is None:  # no float64 run: the native one is the yardstick, and its own error is not known
        exact, budget = native, NATIVE_ONLY
    if not isinstance(bent, torch.Tensor) or bent.shape != exact.shape:
        bent = exact
    views = [output, native, exact, bent]
    if output.is_complex():
        views = [torch.view_as_real(t.to(torch.complex128).resolve_conj()) for t in views]
    dtype = output.real.dtype if output.is_complex() else output.dtype
    if output.numel() <= CHUNK:
        return _floats(views, dtype, budget, path, kept if output.numel() <= KEPT else None)
    pieces = zip(*(view.reshape(-1).split(CHUNK) for view in views), strict=True)  # float64 copies of all would not fit
    return next((m for piece in pieces if (m := _floats(piece, dtype, budget, path))), None)


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _whole(output: torch.Tensor, native: torch.Tensor, exact: torch.Tensor | None, path: str) -> Mismatch | None:
    """Equal to the native run or, where that rounds unlike float64 (an argmax of near ties), to the float64 run."""
    good = output == native
    if exact is not None and exact.dtype == output.dtype:
        good |= output == exact
    bad = int((~good).sum())
    return Mismatch(f"{bad} of {good.numel()} elements of {path} differ", {"wrong": float(bad)}) if bad else None


@dataclass(frozen=True, slots=True)
class Yard:
    """What a floating answer is held against, worked out once for every candidate of a task."""

    finite: torch.Tensor | None  # where the native answer is finite; None for everywhere
    odd: torch.Tensor | None  # the native answer elsewhere
    keep: torch.Tensor | None  # elements with a float64 answer; None for all
    right: torch.Tensor  # the float64 answer
    allowed: torch.Tensor  # error of each element
    steady: torch.Tensor | None  # elements that count for the root-mean-square error; None for all
    rms_allowed: float
    figures: dict[str, float]


def _floats(
    views: Sequence[torch.Tensor], dtype: torch.dtype, budget: Budget, path: str, kept: dict[str, Yard] | None = None
) -> Mismatch | None:
    """Compare (output, native, exact, bent) of one shape; `kept` holds yards by path between calls."""
    yard = kept.get(path) if kept is not None else None
    if yard is None:
        yard = _yard(views[1:], dtype, budget)
        if kept is not None:
            kept[path] = yard
    return _held(views[0].detach().reshape(-1).to(torch.float64), yard, path)


def _yard(views: Sequence[torch.Tensor], dtype: torch.dtype, budget: Budget) -> Yard:
    """From (native, exact, bent). What the problem itself does to one epsilon of its inputs counts as the reference's
    own error, whatever luck the reference had."""
    near, right, moved = (t.detach().reshape(-1).to(torch.float64) for t in views)
    finite = torch.isfinite(near)
    keep = finite & torch.isfinite(right) & torch.isfinite(moved)
    everything = bool(keep.all())
    odd = None if everything else near[~finite]
    if not everything:
        near, right, moved = near[keep], right[keep], moved[keep]
    figures: dict[str, float] = {}
    if not near.numel():
        return Yard(finite, odd, keep, right, right, None, 0.0, figures)
    budget = HALF if dtype in _SHORT else budget
    epsilon = EPSILON.get(dtype, 2.0**-23)
    native, sensitivity, rms = (near - right).abs(), (moved - right).abs(), _rms(right)
    sensitivity = torch.minimum(sensitivity, CAP * (right.abs() + rms))
    native_usual, moved_usual = _usual(native), _usual(sensitivity)
    rms_allowed = budget.rms_factor * (_rms(native_usual) + _rms(moved_usual)) + budget.mean_floor * epsilon * rms
    largest_native, largest_moved = float(native_usual.max()), float(moved_usual.max())
    steady = (native <= largest_native) & (sensitivity <= largest_moved)
    allowed = budget.factor * (torch.clamp(native, min=largest_native) + torch.clamp(sensitivity, min=largest_moved))
    allowed = allowed + epsilon * (budget.floor_value * right.abs() + budget.floor_rms * rms)
    figures = {
        "rms_allowed": rms_allowed, "rms": rms, "native_error": largest_native, "sensitivity": largest_moved,
    }  # fmt: skip
    some = None if everything else finite
    counted = None if bool(steady.all()) else steady
    return Yard(some, odd, None if everything else keep, right, allowed, counted, rms_allowed, figures)


CAP = 0.1  # largest part of a value that its sensitivity to one epsilon may claim
KEPT = 1 << 20  # elements of which a yard is kept


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def _usual(errors: torch.Tensor) -> torch.Tensor:
    """Errors without their outliers: a jump (a floor, a comparison) at a few elements opens no door for the others."""
    sample = errors[:: max(1, errors.numel() // 100_000)]
    return torch.clamp(errors, max=16 * float(torch.quantile(sample, 0.9)))


_SHORT = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)


def _held(out: torch.Tensor, yard: Yard, path: str) -> Mismatch | None:
    """Hold an answer against its yard. On a device each question waits for it, so there are few."""
    there = torch.isfinite(out)
    if yard.finite is None:
        places = 0 if bool(there.all()) else int((~there).sum())
    else:
        places = int((there != yard.finite).sum())
    if places:
        return Mismatch(
            f"{places} of {out.numel()} elements of {path} are finite where the reference's are not, or the reverse", {}
        )
    if yard.odd is not None and yard.odd.numel():
        theirs, ours = (torch.nan_to_num(t, nan=0.5) for t in (out[~there], yard.odd))
        if not torch.equal(theirs, ours):
            return Mismatch(f"infinities or NaN of {path} are not the reference's", {})
    out = out if yard.keep is None else out[yard.keep]
    if not out.numel():
        return None
    error = (out - yard.right).abs()
    bad = error > yard.allowed
    if bool(bad.any()):
        worst = int((error - yard.allowed).argmax())
        pair = f"{float(out[worst]):.6g} where {float(yard.right[worst]):.6g} is right"
        reason = f"{int(bad.sum())} of {out.numel()} elements of {path} are off: {pair}"
        return Mismatch(reason, _figures(error, yard))
    rms_error = _rms(error if yard.steady is None else error[yard.steady])
    if rms_error > yard.rms_allowed:
        times = rms_error / max(yard.rms_allowed, 1e-300)
        return Mismatch(
            f"{path} has {times:.1f} times the root-mean-square error its precision allows ({rms_error:.2g})",
            _figures(error, yard),
        )
    return None


def _figures(error: torch.Tensor, yard: Yard) -> dict[str, float]:
    rms_error = _rms(error if yard.steady is None else error[yard.steady])
    return {"largest_error": float(error.max()), "rms_error": rms_error, **yard.figures}


def loosely(output: Any, native: Any) -> Mismatch | None:
    """The paper's check: element-wise within 1e-2 absolute and relative (systems.md 1.6)."""
    if isinstance(native, torch.Tensor) and isinstance(output, torch.Tensor):
        output = output.to(native.device)
        if output.shape != native.shape:
            return Mismatch(f"output has shape {tuple(output.shape)}, the reference's is {tuple(native.shape)}", {})
        wide = torch.complex128 if native.is_complex() or output.is_complex() else torch.float64
        if torch.allclose(output.to(wide), native.to(wide), rtol=1e-2, atol=1e-2):
            return None
        gap = float((output.to(wide) - native.to(wide)).abs().max())
        return Mismatch(f"outputs differ by up to {gap:.4g}", {"largest_error": gap})
    if isinstance(native, list | tuple):
        if not isinstance(output, list | tuple) or len(output) != len(native):
            return Mismatch(f"{len(native)} outputs expected", {})
        return next((m for o, n in zip(output, native, strict=True) if (m := loosely(o, n))), None)
    if isinstance(native, dict):
        if not isinstance(output, dict) or output.keys() != native.keys():
            return Mismatch("output keys differ", {})
        return next((m for k in native if (m := loosely(output[k], native[k]))), None)
    return None if output == native else Mismatch("outputs differ", {})
