"""Is a proposed module a task worth training on? Gates in order, each with its reason, and acceptance per gate.

interface, api_set, unused_input (text only) -> the verifier's gates (it runs the module in a child) -> near_copy.
Source: the paper's three gates (exact API set, runs, finite) and issue 5's further ones; reports P07, P32.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kzlib.apis.resolve import ENTRY, INPUT_FUNCTIONS, random_calls, resolve
from kzlib.dataflow import graph_of
from kzlib.identity import identity
from kzlib.records import Task

__all__ = ["GATES", "Acceptance", "Validity", "acceptance", "check_text", "check_validity", "identity"]

TEXT_GATES = ("interface", "api_set", "unused_input")
RUN_GATES = ("loads", "runs", "finite", "deterministic", "depends_on_inputs", "not_tiny", "null_predictors", "budget")
GATES = (*TEXT_GATES, *RUN_GATES, "near_copy")


class Checker(Protocol):
    """The part of `kzlib.verifier.Verifier` that is used here."""

    def check(self, tasks: Iterable[Task], seed: int | None = None) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class Validity:
    """`gate` is the first gate that failed, "" when valid; `message` says why in one sentence."""

    task_id: str
    valid: bool
    gate: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """How many modules reached a gate and how many it let through."""

    gate: str
    entered: int
    passed: int


def check_validity(
    tasks: Sequence[Task],
    requested: Sequence[Sequence[str]] | None,
    verifier: Checker,
    known: Iterable[str] = (),
    seed: int | None = None,
) -> Iterator[Validity]:
    """One `Validity` for each task, in order. `requested[i]` is the API set asked for; None skips that gate.

    `known` are identities already in the pool: a module that shares one, or that of an earlier module here, is a near
    copy. Only modules that pass the text gates are run, all in one call of the verifier.
    """
    if requested is not None and len(requested) != len(tasks):
        raise ValueError(f"{len(tasks)} tasks but {len(requested)} requested sets: give one set for each task")
    found = [check_text(task, requested[i] if requested is not None else None) for i, task in enumerate(tasks)]
    sound = {task.id: task for task, text in zip(tasks, found, strict=True) if text.valid}
    checks = {check.task_id: check for check in verifier.check(sound.values(), seed=seed)} if sound else {}
    seen = set(known)
    for task, text in zip(tasks, found, strict=True):
        yield text if not text.valid else _after_text(task, checks[task.id], seen)


def _after_text(task: Task, check: Any, seen: set[str]) -> Validity:
    if not check.ok:
        return Validity(task.id, False, check.gate, check.message)
    name = identity(task.source)
    if name in seen:
        return Validity(task.id, False, "near_copy", "it computes what another module of the pool computes")
    seen.add(name)
    return Validity(task.id, True)


def check_text(task: Task, requested: Sequence[str] | None) -> Validity:
    """The gates that need no run: interface, exact API set, no random numbers in forward, every input read.

    >>> check_text(Task("class Model: pass"), None)
    Validity(task_id='...', valid=False, gate='interface', message='the module has no function get_inputs')
    """
    message = _interface(task.source)
    if message:
        return Validity(task.id, False, "interface", message)
    message = _api_set(task.source, requested)
    if message:
        return Validity(task.id, False, "api_set", message)
    noise = random_calls(task.source)
    if noise:
        return Validity(task.id, False, "deterministic", f"forward draws random numbers ({', '.join(noise)})")
    try:
        unused = graph_of(task.source).unused_inputs()
    except (ValueError, RecursionError) as error:
        return Validity(task.id, False, "interface", str(error))
    if unused:
        return Validity(
            task.id, False, "unused_input", f"forward takes {', '.join(unused)} and no output depends on it"
        )
    return Validity(task.id, True)


def _interface(source: str) -> str:
    """What is missing of a KernelBench-style module, or ""."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError) as error:
        return f"the text is not Python: {getattr(error, 'msg', error)}"
    defined = Counter(s.name for s in body if isinstance(s, ast.ClassDef | ast.FunctionDef))
    if not defined[ENTRY]:
        return f"the module has no class {ENTRY}"
    for name in INPUT_FUNCTIONS:
        if not defined[name]:
            return f"the module has no function {name}"
    for name in (ENTRY, *INPUT_FUNCTIONS):
        if defined[name] > 1:
            return f"the module defines {name} {defined[name]} times"
    methods = [
        s.name for c in body if isinstance(c, ast.ClassDef) and c.name == ENTRY for s in c.body if hasattr(s, "name")
    ]
    return "" if "forward" in methods else f"class {ENTRY} has no forward"


def _api_set(source: str, requested: Sequence[str] | None) -> str:
    """How the APIs used differ from those asked for, or "". Names outside the catalogue are never allowed."""
    try:
        used = resolve(source)
    except RecursionError:
        return "the text is nested too deeply to read"
    if used.unknown:
        return f"it uses {', '.join(used.unknown)}, which is outside the candidate APIs"
    if not used.apis:
        return "it uses no candidate API"
    if requested is None:
        return ""
    missing, extra = sorted(set(requested) - set(used.apis)), sorted(set(used.apis) - set(requested))
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"also uses {', '.join(extra)}"] if extra else []
    return f"it {' and '.join(parts)}" if parts else ""


def acceptance(results: Iterable[Validity]) -> list[Acceptance]:
    """For each gate in order, how many modules reached it and how many passed; gates never reached are left out.

    >>> acceptance([Validity("a", True), Validity("b", False, "api_set", "...")])[:2]
    [Acceptance(gate='interface', entered=2, passed=2), Acceptance(gate='api_set', entered=2, passed=1)]
    """
    results = list(results)
    failed = Counter(r.gate for r in results if not r.valid)
    order = [*GATES, *sorted(failed.keys() - set(GATES))]
    left, rows = len(results), []
    for gate in order:
        if left:
            rows.append(Acceptance(gate, left, left - failed[gate]))
        left -= failed[gate]
    return rows
