"""Evaluate any policy on any tasks: n answers a task, judged under one or more protocols, resumable by task.

Answers and verdicts go to disk as they come (`records/answers.05_evaluation.<subject>.jsonl`, one verdict row an
answer with its sample number in the evidence), so a killed run repeats at most one chunk. Source: issue 8 item 2.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kzlib import metrics
from kzlib.answers import extract
from kzlib.metrics import Attempt
from kzlib.records import (
    NOT_JUDGED,
    Answer,
    Backend,
    Candidate,
    Outcome,
    Task,
    Verdict,
    append_jsonl,
    content_id,
    read_jsonl,
)
from kzlib.scores import write_attempts

if TYPE_CHECKING:
    from kzlib.workspace import Run

STAGE = "05_evaluation"


class Text(Protocol):
    """What a policy returns for one answer (`kzlib.policy.Generation`)."""

    @property
    def text(self) -> str: ...

    @property
    def tokens(self) -> int: ...

    @property
    def finish_reason(self) -> str: ...


# prompts, answers a prompt, seed -> for each prompt its answers
Write = Callable[[list[str], int, int], Sequence[Sequence[Text]]]
# tasks, candidates, protocol -> one verdict a candidate, in any order
Judge = Callable[[list[Task], list[Candidate], str], Iterable[Verdict]]


@dataclass(frozen=True, slots=True)
class Subject:
    """One cell of the evaluation: a model by name, a task set by name, a backend, n answers a task.

    `settings` is everything else that changes the answers (weights, temperature, prompt): files of other settings
    are not continued.
    """

    model: str
    task_set: str
    backend: Backend
    n: int
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def stem(self) -> str:
        """
        >>> Subject("coder.r1", "kernelbench:/data:level1", "triton", 4).stem
        'coder.r1.kernelbench-data-level1.triton'
        """
        words = [Path(word).name if "/" in word else word for word in self.task_set.split(":")]
        return f"{_safe(Path(self.model).name)}.{_safe('-'.join(words))}.{self.backend}"

    def key(self, tasks: Sequence[Task]) -> str:
        return content_id(json.dumps(dataclasses.asdict(self), sort_keys=True), *[task.id for task in tasks])


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name).strip("-")


def evaluate(
    subject: Subject,
    tasks: Sequence[Task],
    write: Write,
    judge: Judge,
    prompt: Callable[[Task], str],
    folder: str | os.PathLike[str],
    protocols: Sequence[str] = ("strict",),
    chunk: int = 8,
    say: Callable[[str], None] = print,
    progress: Callable[[int, int], None] | None = None,
) -> list[Attempt]:
    """Sample and judge; what is on disk for the same subject and tasks is reused and said so."""
    folder = Path(folder)
    tasks = list({task.id: task for task in tasks}.values())
    store = _Store(folder, subject, tasks, say)
    answers = store.answers()
    reused = sum(task.id in answers for task in tasks)
    if reused:
        say(f"{subject.stem}: answers of {reused} of {len(tasks)} tasks reused from disk")
    for done, group in enumerate(_chunks(tasks, chunk), 1):
        missing = [task for task in group if task.id not in answers]
        spent, start = {}, time.perf_counter()
        if missing:
            fresh = _write(subject, group, write, prompt)  # the whole chunk, so that a resumed run samples the same
            for task in missing:
                answers[task.id] = fresh[task.id]
            append_jsonl(store.answer_path, [answer for task in missing for answer in fresh[task.id]])
            spent["seconds/generate"] = time.perf_counter() - start
        for protocol in protocols:
            start = time.perf_counter()
            if store.judge(group, answers, protocol, judge):
                spent[f"seconds/verify/{protocol}"] = time.perf_counter() - start
        store.note(spent)
        if progress:
            progress(min(done * chunk, len(tasks)), len(tasks))
    return [item for protocol in protocols for item in store.attempts(tasks, answers, protocol)]


def _chunks(tasks: Sequence[Task], size: int) -> Iterator[list[Task]]:
    for start in range(0, len(tasks), size):
        yield list(tasks[start : start + size])


def _write(
    subject: Subject, group: Sequence[Task], write: Write, prompt: Callable[[Task], str]
) -> dict[str, list[Answer]]:
    seed = int(content_id("evaluation", str(subject.seed), subject.stem, group[0].id)[:8], 16)
    texts = write([prompt(task) for task in group], subject.n, seed)
    return {
        task.id: [
            Answer(task.id, sample, subject.backend, item.text, item.tokens, item.finish_reason, role=subject.model)
            for sample, item in enumerate(written)
        ]
        for task, written in zip(group, texts, strict=True)
    }


class _Store:
    """The files of one subject. A subject or task set that changed starts over instead of mixing old and new."""

    def __init__(self, folder: Path, subject: Subject, tasks: Sequence[Task], say: Callable[[str], None]) -> None:
        self.subject = subject
        self.folder = folder
        self.answer_path = folder / f"answers.{STAGE}.{subject.stem}.jsonl"
        self.time_path = folder / f"time.{STAGE}.{subject.stem}.jsonl"
        self._verdicts: dict[str, dict[tuple[str, int], Verdict]] = {}
        key_path = folder / f"key.{STAGE}.{subject.stem}.txt"
        key = subject.key(tasks)
        if not key_path.exists() or key_path.read_text() != key:
            old = [self.answer_path, self.time_path, *folder.glob(f"verdicts.{STAGE}.{subject.stem}.*.jsonl")]
            if any(path.exists() for path in old):
                say(f"{subject.stem}: model, settings or tasks changed since the last run, starting over")
            for path in old:
                path.unlink(missing_ok=True)
            folder.mkdir(parents=True, exist_ok=True)
            key_path.write_text(key)

    def verdict_path(self, protocol: str) -> Path:
        return self.folder / f"verdicts.{STAGE}.{self.subject.stem}.{protocol}.jsonl"

    def answers(self) -> dict[str, list[Answer]]:
        """Tasks whose n answers are all on disk; a half-written task is sampled again."""
        if not self.answer_path.exists():
            return {}
        found: dict[str, dict[int, Answer]] = defaultdict(dict)
        for answer in read_jsonl(self.answer_path, Answer):
            found[answer.task_id][answer.sample] = answer
        return {
            task: [rows[i] for i in range(self.subject.n)]
            for task, rows in found.items()
            if len(rows) == self.subject.n
        }

    def verdicts(self, protocol: str) -> dict[tuple[str, int], Verdict]:
        """The last verdict of each (task, sample)."""
        if protocol not in self._verdicts:
            path = self.verdict_path(protocol)
            rows = read_jsonl(path, Verdict) if path.exists() else ()
            self._verdicts[protocol] = {(row.task_id, row.evidence["sample"]): row for row in rows}
        return self._verdicts[protocol]

    def judge(self, group: Sequence[Task], answers: dict[str, list[Answer]], protocol: str, judge: Judge) -> int:
        """Judge what has no verdict yet, and say how many; verdicts of our machine's failure are asked for again."""
        known = self.verdicts(protocol)
        todo = [
            answer
            for task in group
            for answer in answers[task.id]
            if (row := known.get((task.id, answer.sample))) is None or row.outcome is Outcome.INFRA
        ]
        for verdict in judge_answers(group, todo, protocol, judge):
            known[verdict.task_id, verdict.evidence["sample"]] = verdict
            append_jsonl(self.verdict_path(protocol), [verdict])
        return len(todo)

    def note(self, spent: dict[str, float]) -> None:
        """Keep where a chunk's seconds went; a chunk that only read files adds no line."""
        if spent:
            with self.time_path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"subject": self.subject.stem, **spent}) + "\n")

    def attempts(self, tasks: Sequence[Task], answers: dict[str, list[Answer]], protocol: str) -> list[Attempt]:
        known = self.verdicts(protocol)
        return [
            metrics.attempt(
                answer,
                known[task.id, answer.sample],
                model=self.subject.model,
                task_set=set_name(self.subject.task_set),
                level=task.level,
            )
            for task in tasks
            for answer in answers[task.id]
        ]


def judge_answers(tasks: Sequence[Task], answers: Iterable[Answer], protocol: str, judge: Judge) -> Iterator[Verdict]:
    """One verdict an answer, `evidence["sample"]` saying which. Equal code of one task is judged once."""
    waiting: dict[str, list[int]] = defaultdict(list)
    candidates: dict[str, Candidate] = {}
    for answer in answers:
        found = extract(answer.text, answer.finish_reason)
        if found.code is None:
            yield _unreadable(answer, found.outcome or Outcome.NO_CODE, found.rule, found.notes, protocol)
            continue
        candidate = Candidate(answer.task_id, answer.backend, found.code)
        candidates[candidate.id] = candidate
        waiting[candidate.id].append(answer.sample)
    if not candidates:
        return
    for verdict in judge(list(tasks), list(candidates.values()), protocol):
        for sample in waiting.pop(verdict.candidate_id):
            yield dataclasses.replace(verdict, evidence={**verdict.evidence, "sample": sample})
    if waiting:
        raise RuntimeError(f"the verifier gave no verdict for {len(waiting)} candidates: run this stage again")


def _unreadable(answer: Answer, outcome: Outcome, rule: str, notes: tuple[str, ...], protocol: str) -> Verdict:
    return Verdict(
        task_id=answer.task_id,
        candidate_id=content_id("candidate", answer.task_id, answer.backend, answer.text),
        backend=answer.backend,
        outcome=outcome,
        stage="parse",
        where="nowhere",
        protocol=protocol,  # type: ignore[arg-type]
        message="; ".join(notes),
        evidence={"sample": answer.sample, "rule": rule},
    )


def small(tasks: Iterable[Task], say: Callable[[str], None] = print) -> list[Task]:
    """Benchmark tasks at sizes for a CPU; one that runs soundly at no small size is left out and said so."""
    from kzlib.shrink import shrink_with, trial_server

    kept = []
    server = trial_server()
    try:
        for task in tasks:
            found = shrink_with(task, server)
            if found.runs and found.sound:
                kept.append(found.task)
            else:
                say(f"left out {task.origin or task.id}: {found.message}")
    finally:
        server.close()
    return kept


def set_name(spec: str) -> str:
    """How tables call a task source: its kind (levels are a column of their own), of a folder its name; never a path.

    >>> [set_name(s) for s in ("heldout:1:scale=8", "kernelbench:/data/KernelBench:level1", "/data/mine", "hub:a/b")]
    ['heldout x8', 'kernelbench', 'mine', 'hub a/b']
    """
    kind, _, rest = spec.partition(":")
    if kind == "heldout":
        scale = re.search(r"scale=(\d+)", rest)
        return f"heldout x{scale.group(1)}" if scale else kind
    if kind == "hub":
        return f"hub {rest}"
    return kind if rest else Path(spec).stem


def choose(tasks: Sequence[Task], n: int) -> list[Task]:
    """`n` tasks spread evenly over the source's order (levels, families), the same for every seed.

    >>> [task.source for task in choose([Task(str(i)) for i in range(10)], 4)]
    ['0', '2', '5', '7']
    """
    return [tasks[i * len(tasks) // n] for i in range(n)] if n < len(tasks) else list(tasks)


def publish(run: Run, folder: Path, tasks: Iterable[Task], attempts: Sequence[Attempt]) -> None:
    """Bring what `evaluate` kept in `folder` into the run's records, and write `metrics/attempts.csv`."""
    for kind in ("answers", "verdicts"):
        with run.replacing(f"records/{kind}.{STAGE}.jsonl") as scratch, scratch.open("wb") as file:
            for path in sorted(folder.glob(f"{kind}.{STAGE}.*.jsonl")):
                file.write(path.read_bytes())
        run.record(f"evaluation.{kind}", f"records/{kind}.{STAGE}.jsonl", kind="records")
    with run.replacing(f"records/tasks.{STAGE}.jsonl") as scratch:
        append_jsonl(scratch, tasks)
    run.record("evaluation.tasks", f"records/tasks.{STAGE}.jsonl", kind="records")
    lines = [path.read_text(encoding="utf-8") for path in sorted(folder.glob(f"time.{STAGE}.*.jsonl"))]
    run.write_text("metrics/evaluation_time.jsonl", "".join(lines))
    run.record("evaluation.time", "metrics/evaluation_time.jsonl", kind="metrics")
    write_attempts(run.path("metrics/attempts.csv"), attempts)
    run.record("evaluation.attempts", "metrics/attempts.csv", kind="metrics", rows=len(attempts))


def skipped(attempts: Iterable[Attempt]) -> dict[str, int]:
    """Tasks that had at least one answer nobody could judge, by reason. Printed by notebook 05.

    >>> skipped([Attempt("a", 0, Outcome.INFRA), Attempt("a", 1, Outcome.INFRA), Attempt("b", 0, Outcome.PASS)])
    {'infra': 1}
    """
    tasks = {(item.task_id, item.outcome.value) for item in attempts if item.outcome in NOT_JUDGED}
    return dict(sorted(Counter(outcome for _, outcome in tasks).items()))
