"""The cold-start corpus: teacher samples that passed the verifier, kept apart from every held-out module.

Streams: each sample's row is on disk before the next batch is judged, so a killed build goes on where it was.
Source: issue 6 items 4, 5 and 7; DESIGN section 7.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from kzlib.contamination import compare
from kzlib.identity import identity
from kzlib.records import Answer, Candidate, Task, Verdict, from_json, to_json
from kzlib.rewards import Judge
from kzlib.training import StepLog, read_steps


class Sample(Protocol):
    """What the teacher gives (`kzlib.teacher.Sample`)."""

    task: Task
    candidate: Candidate
    family: str
    schedule: dict[str, Any]
    principles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A module, a kernel that passed, and how the kernel came about."""

    task: Task
    candidate: Candidate
    verdict: Verdict
    family: str
    schedule: Mapping[str, Any]
    principles: tuple[str, ...]


def build(
    samples: Iterable[Sample],
    judge: Judge,
    path: Path,
    wanted: int,
    held_out: Sequence[Task] = (),
    batch: int = 64,
    protocol: str = "strict",
    on_batch: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Judge samples until `wanted` have passed; rows of all samples, kept and not, in the order they were made.

    A copy of a module in `held_out` (`kzlib.contamination`) is never kept. `samples` must be the same sequence after a
    kill; those already on disk are passed over.
    """
    log = StepLog(path)
    rows = read_steps(path)
    log.rewind(len(rows))
    stream = islice(iter(samples), len(rows), None)
    kept = sum(row["kept"] for row in rows)
    while kept < wanted and (chunk := list(islice(stream, batch))):
        new = list(_judged(chunk, judge, protocol, held_out, len(rows)))
        log.append(*new)
        rows += new
        kept += sum(row["kept"] for row in new)
        if on_batch:
            on_batch(kept, len(rows))
    return rows


def _judged(
    chunk: Sequence[Sample], judge: Judge, protocol: str, held_out: Sequence[Task], start: int
) -> Iterator[dict[str, Any]]:
    allowed = {task.id for task in compare([s.task for s in chunk], held_out).kept}
    fresh = [s for s in chunk if s.task.id in allowed]
    unique = {s.candidate.id: s for s in fresh}
    tasks = list({s.task.id: s.task for s in fresh}.values())
    verdicts = {v.candidate_id: v for v in judge(tasks, [s.candidate for s in unique.values()], protocol)}
    for number, sample in enumerate(chunk, start + 1):
        verdict = verdicts.get(sample.candidate.id)
        yield {
            "step": number,
            "kept": bool(verdict and verdict.passed),
            "reason": verdict.outcome.value if verdict else "held_out",
            "family": sample.family,
            "schedule": sample.schedule,
            "principles": list(sample.principles),
            "task": to_json(sample.task),
            "candidate": dataclasses.asdict(sample.candidate),
            "verdict": to_json(verdict) if verdict else None,
        }


def pairs(rows: Iterable[Mapping[str, Any]]) -> list[Pair]:
    """The kept rows as records; a kernel that was made twice counts once."""
    out: dict[str, Pair] = {}
    for row in rows:
        if row["kept"]:
            candidate = Candidate(**row["candidate"])
            out[candidate.id] = Pair(
                from_json(Task, row["task"]), candidate, from_json(Verdict, row["verdict"]), row["family"],
                row["schedule"], tuple(row["principles"]),
            )  # fmt: skip
    return list(out.values())


def split(corpus: Sequence[Pair], held_out: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """(train, held-out) with no identity on both sides; about `held_out` modules, never more than a quarter."""
    groups: dict[str, list[Pair]] = {}
    for pair in corpus:
        groups.setdefault(identity(pair.task.source), []).append(pair)
    names = sorted(groups)
    random.Random(seed).shuffle(names)  # noqa: S311
    limit = min(held_out, len(corpus) // 4)
    out: list[Pair] = []
    for name in names:
        if len(out) + len(groups[name]) <= limit:
            out += groups[name]
    apart = {id(pair) for pair in out}
    return [pair for pair in corpus if id(pair) not in apart], out


def as_answers(corpus: Iterable[Pair]) -> Iterator[Answer]:
    """The kernels as answers of the role "teacher", numbered within a module."""
    seen: Counter[str] = Counter()
    for pair in corpus:
        yield Answer(
            pair.task.id, seen[pair.task.id], pair.candidate.backend, pair.candidate.source, 0, "stop", "teacher"
        )
        seen[pair.task.id] += 1


def table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Per family: samples, how many passed, and the share; one row a family, by name.

    >>> table([{"family": "softmax", "kept": True}, {"family": "softmax", "kept": False}])
    [{'family': 'softmax', 'samples': 2, 'passed': 1, 'share': 0.5}]
    """
    total, kept = Counter(r["family"] for r in rows), Counter(r["family"] for r in rows if r["kept"])
    return [{"family": f, "samples": n, "passed": kept[f], "share": kept[f] / n} for f, n in sorted(total.items())]
