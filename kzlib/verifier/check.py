"""Can this task be checked? Its reference must agree with itself, depend on its inputs, and beat null predictors.

Source: DESIGN section 6, point 4; issue 3; reports P01, P07; verifiers.md B11-B14.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from kzlib.verifier.compare import compare
from kzlib.verifier.references import Broken, InputSet, Reference

GATES = ("loads", "runs", "finite", "deterministic", "depends_on_inputs", "not_tiny", "null_predictors", "budget")


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """Is the reference checkable? `gate` names the first gate that failed, or "" when `ok`."""

    task_id: str
    ok: bool
    gate: str = ""
    message: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def check_reference(task_id: str, reference: Reference | Broken) -> TaskCheck:
    """Run every gate, in the order of `GATES`."""
    if isinstance(reference, Broken):
        return TaskCheck(task_id, False, reference.gate, reference.message, {}, reference.seconds)
    first = reference.sets[0]
    facts = {
        "sets": [s.kind for s in reference.sets], "float64": first.exact is not None,
        "mutates_inputs": first.mutated is not None, "ops": sorted({row["op"] for row in reference.ops}),
        "parameters": sum(t.numel() for t in reference.state.values()),
    }  # fmt: skip
    del first
    for gate in (_finite, _deterministic, _depends, _not_tiny, _null_predictors):
        message = gate(reference)
        if message:
            return TaskCheck(
                task_id, False, gate.__name__.lstrip("_").replace("depends", "depends_on_inputs"), message, facts
            )
    return TaskCheck(task_id, True, "", "", facts, reference.seconds)


def leaves(value: Any) -> Iterator[torch.Tensor]:
    """Tensors and numbers of an output tree, as tensors."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, bool | int | float):
        yield torch.tensor(value)


def _answers(row: InputSet) -> list[torch.Tensor]:
    return [*leaves(row.native), *leaves(row.mutated or [])]


# Each gate looks at one set at a time, at most two: on a GPU a large set is made anew each time it is asked for.


def _finite(reference: Reference) -> str:
    for row in reference.sets:
        for tensor in leaves(row.native):
            if (tensor.is_floating_point() or tensor.is_complex()) and not bool(torch.isfinite(tensor).all()):
                return "the reference's output holds infinities or NaN"
    return ""


def _deterministic(reference: Reference) -> str:
    # Not against the float64 run: random numbers differ there too and would widen the tolerance to their own size.
    again = reference.again() if callable(reference.again) else reference.again
    if compare(again, reference.sets[0].native) is not None:
        return "the reference gives two answers for the same inputs and weights (random numbers or unset memory)"
    return ""


def _depends(reference: Reference) -> str:
    if len(reference.sets) < 2:
        return ""
    pairs = zip(_answers(reference.sets[0]), _answers(reference.sets[1]), strict=False)
    if all(a.shape == b.shape and torch.equal(a, b) for a, b in pairs):
        return "the reference gives the same answer for different inputs"
    return ""


def _not_tiny(reference: Reference) -> str:
    if not sum(t.numel() for t in _answers(reference.sets[0])):
        return "the reference returns no elements"
    return ""


def _null_predictors(reference: Reference) -> str:
    """A predictor that knows nothing must fail on at least one input set."""
    for name, guess in _predictors(reference):
        if all(_guessed(reference.sets[index], guess(index)) for index in range(len(reference.sets))):
            return f"{name} would pass as an answer"
    return ""


def _guessed(row: InputSet, guess: Any) -> bool:
    return (
        guess is not None
        and row.mutated is None
        and compare(guess, row.native, row.exact, row.bent, kept=row.yards) is None
    )


def _predictors(reference: Reference) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """What each predictor answers to set number `index`."""
    sets = reference.sets
    other = 1 if len(sets) > 1 else 0
    yield "a tensor of zeros", lambda index: _map(sets[index].native, torch.zeros_like)
    yield (
        "a constant (the mean)",
        lambda index: _constant(sets[index].native, lambda: sets[0 if index else other].native),
    )
    for number in range(len(sets[0].inputs)):
        yield f"a copy of input {number}", partial(_copied, sets, number)
    if len(sets) > 1:
        yield "the previous call's output", lambda index: sets[max(0, index - 1)].native


def _native(sets: Sequence[InputSet], index: int, other: int) -> Any:
    return sets[0 if index else other].native


def _copied(sets: Sequence[InputSet], number: int, index: int) -> Any:
    row = sets[index]
    return _copy(row.inputs[number], row.native)


def _constant(native: Any, other: Callable[[], Any]) -> Any:
    """The mean in every element; for one element, which is its own mean, the value of another input set."""
    if isinstance(native, torch.Tensor):
        if native.numel() > 1:
            return _mean(native)
        found = other()
        return found if isinstance(found, torch.Tensor) else native
    if isinstance(native, list | tuple):
        found = other()
        if not isinstance(found, list | tuple):
            return native
        return tuple(_constant(n, partial(_identity, o)) for n, o in zip(native, found, strict=False))
    if isinstance(native, dict):
        found = other()
        known = found if isinstance(found, dict) else native
        return {k: _constant(v, partial(known.get, k)) for k, v in native.items()}
    return other()


def _identity(value: Any) -> Any:
    return value


def _map(value: Any, step: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return step(value)
    if isinstance(value, dict):
        return {k: _map(v, step) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_map(v, step) for v in value)
    return value


def _mean(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.numel():
        return tensor
    if tensor.is_floating_point() or tensor.is_complex():
        wide = torch.complex128 if tensor.is_complex() else torch.float64
        return torch.full_like(tensor, tensor.mean(dtype=wide).item())
    return (
        torch.full_like(tensor, tensor.flatten().mode().values.item())
        if tensor.dtype != torch.bool
        else (torch.full_like(tensor, bool(tensor.float().mean() > 0.5)))
    )


def _copy(source: Any, native: Any) -> Any:
    if isinstance(native, list | tuple) and len(native) == 1:
        return (_copy(source, native[0]),)
    if isinstance(source, torch.Tensor) and isinstance(native, torch.Tensor):
        return source if source.shape == native.shape and source.dtype == native.dtype else None
    return None
