"""Write samples to a folder: module and kernel files, JSON lines, parquet shards; an interrupted run goes on where
it was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kzlib.records import Backend, Candidate, Task, Verdict, append_jsonl
from kzlib.teacher.sample import CHUNK, Sample, chunks

SHARD = 8  # chunks of the stream in one shard


@dataclass
class Corpus:
    """A folder of samples. What is complete is known by its shard files alone, so a killed run loses at most one
    shard."""

    folder: Path
    seed: int
    backend: Backend
    families: tuple[str, ...] | None
    styles: str
    files: bool = True
    seen: set[str] = field(default_factory=set)
    passed: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)

    def shard_path(self, number: int, cut: bool = False) -> Path:
        return self.folder / "shards" / f"part-{number:05d}{'.cut' if cut else ''}.parquet"

    def shards(self) -> list[Path]:
        return sorted((self.folder / "shards").glob("part-*.parquet"))

    def open(self, n: int) -> int:
        """Check that the folder holds this very stream, take stock, and give the next shard's number."""
        (self.folder / "shards").mkdir(parents=True, exist_ok=True)
        wanted = {"seed": self.seed, "backend": self.backend, "families": self.families, "styles": self.styles}
        note = self.folder / "stream.json"
        if note.exists() and json.loads(note.read_text()) != json.loads(json.dumps(wanted)):
            raise ValueError(
                f"{self.folder} holds another stream of samples ({note.read_text().strip()}): give another --out"
            )
        note.write_text(json.dumps(wanted) + "\n")
        found = {path: _column(path, "task_id") for path in self.shards()}
        if sum(map(len, found.values())) < n:
            for path in [p for p in found if ".cut." in p.name]:  # ended early for a smaller n: made again in full
                path.unlink()
                del found[path]
        self.seen = {i for ids in found.values() for i in ids}
        if found and _lines(self.folder / "tasks.jsonl") != len(self.seen):
            self.rebuild(found)
        elif not found:
            self.rebuild({})
        return len(found)

    def rebuild(self, shards: Iterable[Path]) -> None:
        """Write the JSON lines again from the complete shards."""
        for name in ("tasks.jsonl", "candidates.jsonl"):
            (self.folder / name).unlink(missing_ok=True)
        for path in shards:
            self.append([unrow(r) for r in _rows(path)])

    def append(self, samples: Sequence[Sample]) -> None:
        append_jsonl(self.folder / "tasks.jsonl", [s.task for s in samples])
        append_jsonl(self.folder / "candidates.jsonl", [s.candidate for s in samples])

    def write(self, number: int, samples: Sequence[Sample], cut: bool = False) -> None:
        """One shard: loose files first, the shard last and at once, so that its presence means complete."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.append(samples)
        if self.files:
            for s in samples:
                _put(self.folder / "modules" / f"{s.task.id}.py", s.task.source)
                _put(self.folder / "kernels" / f"{s.task.id}.{s.candidate.backend}.py", s.candidate.source)
        temporary = self.shard_path(number, cut).with_suffix(".tmp")
        schema = pa.schema(
            [
                ("task_id", pa.string()),
                ("backend", pa.string()),
                ("family", pa.string()),
                ("apis", pa.list_(pa.string())),
                ("task", pa.string()),
                ("origin", pa.string()),
                ("kernel", pa.string()),
                ("schedule", pa.string()),
                ("principles", pa.list_(pa.string())),
            ]
        )
        pq.write_table(pa.Table.from_pylist([row(s) for s in samples], schema=schema), temporary)
        temporary.rename(self.shard_path(number, cut))


def row(s: Sample) -> dict[str, Any]:
    """A sample as one parquet row."""
    return {
        "task_id": s.task.id,
        "backend": s.candidate.backend,
        "family": s.family,
        "apis": list(s.task.apis),
        "task": s.task.source,
        "origin": s.task.origin,
        "kernel": s.candidate.source,
        "schedule": json.dumps(s.schedule),
        "principles": list(s.principles),
    }


def unrow(r: dict[str, Any]) -> Sample:
    """The inverse of `row`."""
    task = Task(r["task"], tuple(r["apis"]), origin=r["origin"])
    return Sample(
        task,
        Candidate(task.id, r["backend"], r["kernel"]),
        r["family"],
        json.loads(r["schedule"]),
        tuple(r["principles"]),
    )


def read(folder: str | Path) -> Iterator[Sample]:
    """The samples of a folder that `kz teach` wrote, shard by shard."""
    for path in sorted((Path(folder) / "shards").glob("part-*.parquet")):
        yield from map(unrow, _rows(path))


def _rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    return pq.read_table(path).to_pylist()


def _column(path: Path, name: str) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_table(path, columns=[name]).column(name).to_pylist()


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


Check = Callable[[Sequence[Sample]], Iterable[tuple[Sample, Verdict]]]


def fill(corpus: Corpus, n: int, workers: int | None, check: Check | None = None) -> Iterator[Sample]:
    """Write shards until the folder holds `n` samples; yields every sample written now. `check` judges: failures go to
    failed.jsonl with their verdicts (`kzlib.teacher.pairs` makes repair pairs of them)."""
    number = corpus.open(n)
    held: list[Sample] = []
    if len(corpus.seen) >= n:
        return
    stream = chunks(corpus.seed, corpus.backend, corpus.families, corpus.styles, workers, first=number * SHARD)
    total = len(corpus.seen)
    for k, made in enumerate(stream, 1):
        held += [s for s in made if s.task.id not in corpus.seen and not corpus.seen.add(s.task.id)]  # type: ignore[func-returns-value]
        if k % SHARD and (check is not None or total + len(held) < n):
            continue
        kept = held if check is None else _checked(corpus, held, check)
        cut = total + len(kept) > n or bool(k % SHARD)
        kept = kept[: n - total]
        corpus.write(number, kept, cut)
        yield from kept
        number, total, held = number + 1, total + len(kept), []
        if total >= n:
            return


def _checked(corpus: Corpus, samples: Sequence[Sample], check: Check) -> list[Sample]:
    kept = []
    with (corpus.folder / "failed.jsonl").open("a", encoding="utf-8") as failed:
        for s, verdict in check(samples):
            corpus.judged[s.family] += 1
            if verdict.passed:
                corpus.passed[s.family] += 1
                kept.append(s)
            else:
                failed.write(
                    json.dumps({**row(s), "outcome": verdict.outcome.value, "message": verdict.message}) + "\n"
                )
    order = {s.task.id: k for k, s in enumerate(samples)}
    return sorted(kept, key=lambda s: order[s.task.id])


__all__ = ["CHUNK", "Corpus", "fill", "read"]
