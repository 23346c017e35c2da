"""Can this task be checked? Its reference must agree with itself, depend on its inputs, and beat null predictors.

Source: DESIGN section 6, point 4; issue 3; reports P01, P07; verifiers.md B11-B14.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from kzlib.verifier.compare import compare
from kzlib.verifier.references import Broken, Reference

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
    facts = {
        "sets": [s.kind for s in reference.sets], "float64": reference.sets[0].exact is not None,
        "mutates_inputs": reference.sets[0].mutated is not None, "ops": sorted({row["op"] for row in reference.ops}),
        "parameters": sum(t.numel() for t in reference.state.values()),
    }  # fmt: skip
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


def _answers(reference: Reference) -> list[list[torch.Tensor]]:
    return [[*leaves(s.native), *leaves(s.mutated or [])] for s in reference.sets]


def _finite(reference: Reference) -> str:
    for row in reference.sets:
        for tensor in leaves(row.native):
            if (tensor.is_floating_point() or tensor.is_complex()) and not bool(torch.isfinite(tensor).all()):
                return "the reference's output holds infinities or NaN"
    return ""


def _deterministic(reference: Reference) -> str:
    first = reference.sets[0]
    # Not against the float64 run: random numbers differ there too and would widen the tolerance to their own size.
    if compare(reference.again, first.native) is not None:
        return "the reference gives two answers for the same inputs and weights (random numbers or unset memory)"
    return ""


def _depends(reference: Reference) -> str:
    answers = _answers(reference)
    if len(answers) > 1 and all(
        a.shape == b.shape and torch.equal(a, b) for a, b in zip(answers[0], answers[1], strict=False)
    ):
        return "the reference gives the same answer for different inputs"
    return ""


def _not_tiny(reference: Reference) -> str:
    tensors = _answers(reference)[0]
    if not sum(t.numel() for t in tensors):
        return "the reference returns no elements"
    return ""


def _null_predictors(reference: Reference) -> str:
    """A predictor that knows nothing must fail on at least one input set."""
    for name, guesses in _predictors(reference):
        passed = [
            g is not None and compare(g, s.native, s.exact, s.bent) is None and s.mutated is None
            for g, s in zip(guesses, reference.sets, strict=True)
        ]
        if all(passed):
            return f"{name} would pass as an answer"
    return ""


def _predictors(reference: Reference) -> Iterator[tuple[str, list[Any]]]:
    sets = reference.sets
    yield "a tensor of zeros", [_map(s.native, torch.zeros_like) for s in sets]
    others = [sets[1] if i == 0 and len(sets) > 1 else sets[0] for i in range(len(sets))]
    yield "a constant (the mean)", [_constant(s.native, o.native) for s, o in zip(sets, others, strict=True)]
    for index in range(len(sets[0].inputs)):
        yield f"a copy of input {index}", [_copy(s.inputs[index], s.native) for s in sets]
    if len(sets) > 1:
        yield "the previous call's output", [sets[i - 1].native if i else sets[0].native for i in range(len(sets))]


def _constant(native: Any, other: Any) -> Any:
    """The mean in every element; for one element, which is its own mean, the value of another input set."""
    if isinstance(native, torch.Tensor):
        return _mean(native) if native.numel() > 1 else other if isinstance(other, torch.Tensor) else native
    if isinstance(native, list | tuple):
        return tuple(map(_constant, native, other)) if isinstance(other, list | tuple) else native
    if isinstance(native, dict):
        return {k: _constant(v, other.get(k)) for k, v in native.items()} if isinstance(other, dict) else native
    return other


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
        return torch.full_like(tensor, tensor.to(wide).mean().item())
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
