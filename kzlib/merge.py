"""One file a kind for the whole run: every stage's records brought together at its top."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kzlib.records import Answer, Task, Verdict, append_jsonl, read_jsonl

if TYPE_CHECKING:
    from kzlib.workspace import Run

KINDS: dict[str, type[Task] | type[Answer] | type[Verdict]] = {"tasks": Task, "answers": Answer, "verdicts": Verdict}


def merge_records(run: Run) -> dict[str, int]:
    """Write `tasks.jsonl`, `answers.jsonl`, `verdicts.jsonl` from `records/<kind>.<stage>.jsonl`; return the counts.

    A task that several stages name is kept once; answers and verdicts are kept all, in the order of the stages.
    """
    counts = {}
    for kind in KINDS:
        with run.replacing(f"{kind}.jsonl") as scratch:
            scratch.touch()
            counts[kind] = append_jsonl(scratch, _records(run, kind))
        run.record(f"records.{kind}", f"{kind}.jsonl", kind="records", rows=counts[kind])
    return counts


def _records(run: Run, kind: str) -> Iterator[Task | Answer | Verdict]:
    seen: set[str] = set()
    for path in sorted((run.root / "records").glob(f"{kind}.*.jsonl")):
        for record in read_jsonl(path, KINDS[kind]):  # type: ignore[type-var]
            if isinstance(record, Task):
                if record.id in seen:
                    continue
                seen.add(record.id)
            yield record
