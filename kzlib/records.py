"""What flows between the parts: frozen dataclasses, kept on disk as JSON lines under one schema version.

`Task` (a Torch module) -> `Answer` (what a model wrote) -> `Candidate` (the code in it) -> `Verdict` (what the
verifier saw). Source: DESIGN section 5.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar

SCHEMA = 1

Backend = Literal["triton", "cuda"]
BACKENDS: tuple[Backend, ...] = ("triton", "cuda")


class Outcome(StrEnum):
    """How a candidate ended, told apart by what happened and never by words in an error text."""

    PASS = "pass"  # noqa: S105
    WRONG = "wrong"
    CHEAT = "cheat"
    LIBRARY_ONLY = "library_only"
    COMPILE_FAIL = "compile_fail"
    COMPILE_TIMEOUT = "compile_timeout"
    RUNTIME_FAIL = "runtime_fail"
    TIMEOUT = "timeout"
    NO_CODE = "no_code"
    TRUNCATED = "truncated"
    INVALID_TASK = "invalid_task"
    UNSUPPORTED = "unsupported"
    INFRA = "infra"


# Outcomes that say nothing about the candidate: they leave a group's statistics and every denominator.
NOT_JUDGED = frozenset({Outcome.INVALID_TASK, Outcome.UNSUPPORTED, Outcome.INFRA})


def content_id(*parts: str) -> str:
    """Sixteen hex digits naming a content; parts are length-prefixed, so ("ab", "c") differs from ("a", "bc").

    >>> content_id("ab", "c") == content_id("a", "bc")
    False
    >>> len(content_id("x"))
    16
    """
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Task:
    """A Torch module in KernelBench form: `class Model`, `get_inputs()`, `get_init_inputs()`.

    >>> task = Task("class Model: ...", apis=("torch.relu",), origin="example")
    >>> task.id == Task("class Model: ...").id
    True
    """

    source: str
    apis: tuple[str, ...] = ()
    origin: str = ""
    level: int = 0
    id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "apis", tuple(sorted(self.apis)))
        if not self.id:
            object.__setattr__(self, "id", content_id("task", self.source))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote for one task: raw text, tokens generated, and why generation stopped ("stop", "length")."""

    task_id: str
    sample: int
    backend: Backend
    text: str
    tokens: int
    finish_reason: str
    role: str = "coder"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Code to be judged against a task: text that defines `class ModelNew`."""

    task_id: str
    backend: Backend
    source: str
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", content_id("candidate", self.task_id, self.backend, self.source))


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in microseconds; `kind` is "measured" (on a GPU) or "modelled" (a CPU's count of launches and bytes)."""

    candidate_us: float
    baseline_us: float
    speedup: float
    kind: Literal["measured", "modelled"]
    n: int
    spread: float  # interquartile range over median of the candidate's times; 0 for modelled times
    launch_bound: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the verifier saw of one candidate. `kz verify --json` prints exactly this."""

    task_id: str
    candidate_id: str
    backend: Backend
    outcome: Outcome
    stage: str  # "parse" | "task" | "build" | "run" | "compare" | "evidence" | "time" | "done"
    where: str  # "cpu-interpreter" or "cuda:<device name>"
    protocol: Literal["strict", "keck"]
    message: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    timing: Timing | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    seed: int = 0

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASS

    @property
    def judged(self) -> bool:
        """False where the answer says something about us or the task, not about the candidate."""
        return self.outcome not in NOT_JUDGED


Record = TypeVar("Record", Task, Answer, Candidate, Verdict)


def to_json(record: Task | Answer | Candidate | Verdict) -> dict[str, Any]:
    """A record as plain JSON types, with the schema version first."""
    return {"schema": SCHEMA, **dataclasses.asdict(record)}


def from_json(kind: type[Record], row: dict[str, Any]) -> Record:
    """The inverse of `to_json`; a row of another schema or with unknown fields is an error in one sentence.

    >>> answer = Answer("t", 0, "triton", "text", 3, "stop")
    >>> from_json(Answer, to_json(answer)) == answer
    True
    """
    row = dict(row)
    schema = row.pop("schema", None)
    if schema != SCHEMA:
        raise ValueError(
            f"this record has schema {schema}, this version reads {SCHEMA}: make it again with this version"
        )
    names = {f.name for f in dataclasses.fields(kind)}
    unknown = sorted(set(row) - names)
    if unknown:
        raise ValueError(f"a {kind.__name__} record has no field {unknown[0]!r}; it has {', '.join(sorted(names))}")
    if kind is Task:
        row["apis"] = tuple(row.get("apis", ()))
    if kind is Verdict:
        row["outcome"] = Outcome(row["outcome"])
        row["timing"] = Timing(**row["timing"]) if row.get("timing") else None
    return kind(**row)


def read_jsonl(path: str | os.PathLike[str], kind: type[Record]) -> Iterator[Record]:
    """Records of a JSON-lines file. A torn last line (its writer was killed) is left out; a bad line is an error."""
    text = Path(path).read_text(encoding="utf-8")
    lines = text.split("\n")
    torn = lines.pop()  # "" after a complete file
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"{path}, line {number}, is not JSON ({error.msg}): delete the file and run its stage again"
            ) from None
        yield from_json(kind, row)
    if torn:
        try:
            row = json.loads(torn)
        except json.JSONDecodeError:
            return
        yield from_json(kind, row)


def append_jsonl(path: str | os.PathLike[str], records: Iterable[Task | Answer | Candidate | Verdict]) -> int:
    """Append records, one write a line, and return how many. A torn last line left by a killed writer is cut first."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with path.open("ab+") as file:
        _cut_torn_line(file)
        for record in records:
            file.write(json.dumps(to_json(record), ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def _cut_torn_line(file: Any) -> None:
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    position = size
    while position > 0:
        step = min(4096, position)
        file.seek(position - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            file.truncate(position - step + newline + 1)
            return
        position -= step
    file.truncate(0)
