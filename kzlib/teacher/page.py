"""One module, several schedules, both backends: what a reader compares side by side. Source: issue 6, item 8."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kzlib.records import BACKENDS, Backend, Candidate, Task, Verdict
from kzlib.teacher.compiler import compile_graph
from kzlib.teacher.schedule import PLAIN
from kzlib.teacher.tracer import trace_foreign

SCHEDULES: dict[str, dict[str, Any]] = {
    "fused, one block a row": PLAIN,
    "fused, rows in blocks, small tiles": {**PLAIN, "passes": "loop", "block": 256, "tile": (32, 32, 32)},
    "one kernel an operator": {**PLAIN, "fuse": False},
}


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A candidate, the schedule it was printed under, and the principles its kernels use."""

    schedule: str
    backend: Backend
    candidate: Candidate
    principles: tuple[str, ...]


def exhibits(task: Task, schedules: dict[str, dict[str, Any]] | None = None) -> list[Exhibit]:
    """The task under every schedule in both backends; raises `Unsupported` as `solve` does."""
    graph = trace_foreign(task.source)
    out = []
    for name, schedule in (schedules or SCHEDULES).items():
        for backend in BACKENDS:
            text, _, principles = compile_graph(task.source, graph, backend, schedule)
            out.append(Exhibit(name, backend, Candidate(task.id, backend, text), principles))
    return out


def table(shown: Sequence[Exhibit], verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """One row an exhibit: schedule, backend, kernels, lines, principles, outcome and modelled or measured speed-up."""
    found = {v.candidate_id: v for v in verdicts}
    rows = []
    for x in shown:
        verdict = found.get(x.candidate.id)
        text = x.candidate.source
        rows.append({
            "schedule": x.schedule, "backend": x.backend,
            "kernels": text.count("__global__") + text.count("@triton.jit"),
            "lines": len(text.splitlines()), "principles": ", ".join(x.principles),
            "outcome": verdict.outcome.value if verdict else "not judged here",
            "speedup": round(verdict.timing.speedup, 2) if verdict and verdict.timing else None,
        })  # fmt: skip
    return rows
