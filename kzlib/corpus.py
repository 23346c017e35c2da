"""The cold-start corpus: teacher samples that passed the verifier, kept apart from every held-out module.

Streams: each sample's row is on disk before the next batch is judged, so a killed build goes on where it was.
Source: issue 6 items 4, 5 and 7; DESIGN section 7.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kzlib.apis.catalogue import find
from kzlib.contamination import compare
from kzlib.identity import identity
from kzlib.records import Answer, Backend, Candidate, Task, Verdict, content_id, from_json, to_json
from kzlib.rewards import Judge
from kzlib.seeds import child_seed
from kzlib.tasks import load_tasks
from kzlib.training import StepLog, read_steps

if TYPE_CHECKING:
    from kzlib.proposals import Written
    from kzlib.teacher import Sample

PLAIN = ("step", "kept", "reason", "family")  # columns of an exported corpus that are no JSON
CHUNK = 64  # modules a worker lowers at once
TEACHER = Path(__file__).with_name("teacher")


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


def shares(size: int, backends: int, asked: float) -> tuple[int, int]:
    """Pairs a backend: the teacher's own, and those for modules as the Proposer is asked for them.

    >>> shares(100, backends=1, asked=0.25), shares(7, backends=2, asked=0.0)
    ((75, 25), (4, 0))
    """
    each = -(-size // backends)
    return each - round(asked * each), round(asked * each)


def stream(
    backend: Backend, wanted: int, seed: int, families: Sequence[str], style: str, answer_tokens: int
) -> Generator[Sample]:
    """The teacher's samples for a run's corpus, kernels that fit an answer; the same for the same arguments."""
    from kzlib import teacher

    made: Any = teacher.generate(100 * wanted, child_seed(seed, "teacher", backend), backend, families, style)
    try:
        yield from (s for s in made if len(s.candidate.source) < 2.5 * answer_tokens)
    finally:
        made.close()


def for_modules(
    written: Sequence[Written], backend: Backend, style: str, answer_tokens: int, workers: int | None = None
) -> Generator[Sample]:
    """The teacher's kernels for modules that were written for API sets (`kzlib.proposals`), in their order.

    Those whose kernel would be longer than the style allows, or than an answer may be, are left out. The same
    whatever the number of workers (None or 0: as many as cores, up to 16).
    """
    from kzlib.teacher.sample import single_threaded

    jobs = [(written[k : k + CHUNK], backend, style) for k in range(0, len(written), CHUNK)]
    with ProcessPoolExecutor(
        workers or min(16, len(os.sched_getaffinity(0))), multiprocessing.get_context("spawn"), single_threaded
    ) as pool:
        for made in pool.map(_kernels, jobs):
            yield from (s for s in made if len(s.candidate.source) < 2.5 * answer_tokens)


def _kernels(job: tuple[Sequence[Written], Backend, str]) -> list[Sample]:
    written, backend, style = job
    return [sample for one in written if (sample := kernel_for(one, backend, style)) is not None]


def kernel_for(written: Written, backend: Backend, style: str = "plain") -> Sample | None:
    """A kernel under the plain schedule, or None where the module has no lowering or one too long for the style.

    >>> from kzlib.proposals import module_for
    >>> written = module_for(("torch.exp", "torch.abs"), random.Random(0))
    >>> "x = tl.abs(x)" in kernel_for(written, "triton").candidate.source
    True
    """
    from kzlib.constructor import settled_source
    from kzlib.teacher import Sample, Unsupported
    from kzlib.teacher.compiler import compile_graph
    from kzlib.teacher.graph import execute, trace_namespace
    from kzlib.teacher.sample import POINTWISE_FAMILIES, STYLES
    from kzlib.teacher.schedule import PLAIN as SCHEDULE

    shown = settled_source(written.source)  # the kernel mirrors what the Coder is shown
    try:
        text, plan, principles = compile_graph(shown, trace_namespace(execute(shown)), backend, SCHEDULE)
    except Unsupported:
        return None
    if len(plan.steps) > STYLES[style].kernels or len(text) > STYLES[style].characters:
        return None
    classes = [find(name).operator_class for name in written.apis]
    family = next((c for c in classes if c not in POINTWISE_FAMILIES), classes[0])
    task = written.task
    return Sample(task, Candidate(task.id, backend, text), family, dict(SCHEDULE), principles)


def key_of(backend: Backend, seed: int, families: Sequence[str], style: str, answer_tokens: int, protocol: str) -> str:
    """A digest of what decides which samples a corpus holds: settings, the teacher's sources, the held-out set."""
    settings = json.dumps([backend, seed, sorted(families), style, answer_tokens, protocol])
    sources = (path.read_text(encoding="utf-8") for path in sorted(TEACHER.rglob("*.py")))
    return content_id(settings, *sources, *(task.id for task in load_tasks("heldout")))


def export(rows: Sequence[Mapping[str, Any]], path: Path, key: str) -> None:
    """Rows of `build` as one parquet file that says under which key they were made."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    flat = [{k: v if k in PLAIN else json.dumps(v) for k, v in row.items()} for row in rows]
    table = pa.Table.from_pylist(flat).replace_schema_metadata({"kz_corpus_key": key})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pq.write_table(table, part, compression="zstd")
    part.replace(path)


def adopt(path: Path, made: Path, key: str) -> int:
    """Put the rows of an exported corpus where `build` continues from, unless some are there; returns their number.

    Raises ValueError if the corpus was made under another key.
    """
    import pyarrow.parquet as pq

    if not made.exists():
        table = pq.read_table(path)
        found = (table.schema.metadata or {}).get(b"kz_corpus_key", b"").decode()
        if found != key:
            raise ValueError(
                f"{path.name} was made with other settings, another teacher or another held-out set: make it again "
                "with kz corpus, or set corpus_from to an empty text"
            )
        StepLog(made).append(
            *({k: v if k in PLAIN else json.loads(v) for k, v in row.items()} for row in table.to_pylist())
        )
    return len(read_steps(made))


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
