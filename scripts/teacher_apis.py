"""Which APIs of the catalogue the teacher has kernels for, each shown by a sample that was judged.

    python scripts/teacher_apis.py                # judge what is new, write docs/teacher_apis.{csv,md}

A row of the CSV is one API: the Triton kernel of its sample through the strict verifier, the CUDA kernel through the
verifier on a GPU or through nvcc where there is none. Rows whose kernels have not changed are not judged again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kzlib.apis import catalogue
from kzlib.records import Candidate, Task
from kzlib.teacher.support import Row, examples, markdown
from kzlib.verifier import Verifier, resolve_device
from kzlib.verifier.build import compile_check

FOLDER = Path(__file__).resolve().parents[1] / "docs"
BLOCK = 32


def read(path: Path) -> dict[tuple[str, str], Row]:
    """Rows by API and kernel texts' ids."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(r["api"], r["candidates"]): Row(**r) for r in csv.DictReader(file)}


def write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, Row.__dataclass_fields__)
        writer.writeheader()
        writer.writerows({name: getattr(r, name) for name in Row.__dataclass_fields__} for r in rows)


def judged(made: Sequence[tuple[Row, Task | None, list[Candidate]]], verifier: Verifier) -> Iterator[Row]:
    """Rows with what the verifier and the compiler said."""
    on_gpu = verifier.device != "cpu"
    tasks = {task.id: task for _, task, _ in made if task is not None}
    backends = ("triton", "cuda") if on_gpu else ("triton",)
    todo = [c for _, _, candidates in made for c in candidates if c.backend in backends]
    said = {v.candidate_id: v.outcome.value for v in verifier.verify(list(tasks.values()), todo)}
    others = [c for _, _, candidates in made for c in candidates if c.backend not in backends]
    with ThreadPoolExecutor(verifier.workers) as pool:
        for candidate, failure in zip(others, pool.map(compile_check, others), strict=True):
            said[candidate.id] = "compiles" if failure is None else failure[0].value
    for row, _, candidates in made:
        for candidate in candidates:
            setattr(row, candidate.backend, said[candidate.id])
        yield row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:0")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this long; call again to go on")
    parser.add_argument("--csv", type=Path, default=FOLDER / "teacher_apis.csv")
    parser.add_argument("--table", type=Path, default=FOLDER / "teacher_apis.md")
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    known = read(options.csv)
    rows: dict[str, Row] = {}
    fresh = []
    for api in catalogue():
        row, task, candidates = examples(api.name, api.operator_class)
        rows[api.name] = known.get((row.api, row.candidates), row)
        if rows[api.name] is row and candidates:
            fresh.append((row, task, candidates))
    with Verifier(device=resolve_device(options.device), workers=options.workers) as verifier:
        for start in range(0, len(fresh), BLOCK):
            if time.time() > until:
                print("Time is up: the same call goes on from here.")
                break
            for row in judged(fresh[start : start + BLOCK], verifier):
                rows[row.api] = row
            write(options.csv, [r for r in rows.values() if r.triton or r.cuda])
            print(f"\r{start + BLOCK}/{len(fresh)}", end="", file=sys.stderr, flush=True)
    text = markdown(list(rows.values()))
    options.table.write_text(text)
    print(text.splitlines()[2])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
