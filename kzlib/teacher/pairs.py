"""Pairs to learn repairs and speed from: (broken kernel, what the verifier said) -> fixed kernel, slow -> fast kernel.

Kept as JSON lines, one pair a line: kind ("repair" or "speed"), task, backend, before, message, after, principles.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kzlib.records import Candidate, Verdict
from kzlib.teacher.sample import Sample


@dataclass(frozen=True, slots=True)
class Pair:
    """`before` is broken (message: the verdict's words) or slow (message: what the schedule lacked); `after` is
    neither."""

    kind: str
    task: str
    backend: str
    before: str
    message: str
    after: str
    principles: tuple[str, ...] = ()


def broken(samples: Iterable[Sample], seed: int, per_sample: int = 1) -> Iterator[tuple[Sample, Candidate, str]]:
    """Candidates with one edit each (`kzlib.verifier.mutate`) beside the right sample, and the edit's kind.

    Kinds are drawn first and places second, so that rare kinds of mistakes are not drowned.
    """
    from kzlib.verifier.mutate import mutants

    for sample in samples:
        rng = random.Random(f"{seed}/{sample.candidate.id}")  # noqa: S311
        by_kind: dict[str, list[Any]] = {}
        for mutant in mutants(sample.candidate.source):
            by_kind.setdefault(mutant.kind, []).append(mutant)
        kinds = sorted(by_kind)
        rng.shuffle(kinds)
        for kind in kinds[:per_sample]:
            mutant = rng.choice(by_kind[kind])
            yield sample, Candidate(sample.task.id, sample.candidate.backend, mutant.source), kind


def repair_pairs(samples: Sequence[Sample], verifier: Any, seed: int = 0, per_sample: int = 1) -> Iterator[Pair]:
    """Break right kernels, judge them, keep those that the verifier rejects, with its words. `infra` counts for
    nothing."""
    made = list(broken(samples, seed, per_sample))
    right = {candidate.id: sample for sample, candidate, _ in made}
    tasks = {s.task.id: s.task for s in samples}
    for verdict in verifier.verify(list(tasks.values()), [c for _, c, _ in made]):
        if verdict.judged and not verdict.passed:
            candidate = next(c for _, c, _ in made if c.id == verdict.candidate_id)
            yield repair(right[verdict.candidate_id], candidate, verdict)


def repair(sample: Sample, candidate: Candidate, verdict: Verdict) -> Pair:
    message = f"{verdict.outcome.value}: {verdict.message}".strip()
    return Pair(
        "repair",
        sample.task.source,
        candidate.backend,
        candidate.source,
        message,
        sample.candidate.source,
        sample.principles,
    )


SLOW: dict[str, tuple[dict[str, Any], str]] = {
    "fusion": ({"fuse": False}, "every operator is its own kernel and goes through memory"),
    "tiling": ({"tile": (16, 16, 16)}, "the tiles are small, so operands are read many times"),
    "reduction": ({"passes": "loop", "block": 64}, "the row is walked in short blocks, once a pass"),
}


def speed_pairs(samples: Iterable[Sample]) -> Iterator[Pair]:
    """The same task under a worse schedule and under the sample's own; both are right, only the schedule differs."""
    from kzlib.teacher.compiler import compile_graph
    from kzlib.teacher.graph import trace

    for sample in samples:
        graph = trace(sample.task.source)
        for principle, (change, message) in SLOW.items():
            if principle not in sample.principles:
                continue
            slow, _, _ = compile_graph(
                sample.task.source, graph, sample.candidate.backend, {**sample.schedule, **change}
            )
            if slow != sample.candidate.source:
                yield Pair(
                    "speed",
                    sample.task.source,
                    sample.candidate.backend,
                    slow,
                    message,
                    sample.candidate.source,
                    (principle,),
                )


def write_pairs(path: Path, pairs: Iterable[Pair]) -> int:
    """Append pairs as JSON lines; gives how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("a", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps(asdict(pair), ensure_ascii=False) + "\n")
            count += 1
    return count


def read_pairs(path: Path) -> list[Pair]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Pair(**{**row, "principles": tuple(row["principles"])}) for row in rows]


__all__ = ["Pair", "broken", "read_pairs", "repair_pairs", "speed_pairs", "write_pairs"]
