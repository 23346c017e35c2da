"""How far the teacher gets on tasks that others wrote: which get a kernel, which pass, how fast, and why not.

    python scripts/teacher_on_tasks.py kernelbench:PATH:level1 kernelbench:PATH:level2 --csv kb.csv --table kb.md
    python scripts/teacher_on_tasks.py kernelbench:PATH:level1 --backends cuda --minutes 9 --csv kb.csv

Without a GPU tasks are shrunk, Triton runs in the interpreter (blocks as large as it likes) and CUDA is compiled only.
The tasks' text is read from the path that is given and never stored; the files hold names, verdicts and reasons. A CSV
row a task and backend, written as it comes: a second call with the same file goes on where the first stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from kzlib.records import Candidate, Outcome, Task, Verdict
from kzlib.shrink import shrink_with, trial_server
from kzlib.tasks import load_tasks
from kzlib.teacher import Unsupported, solve
from kzlib.teacher.schedule import INTERPRETED, PLAIN
from kzlib.verifier import Verifier, resolve_device
from kzlib.verifier.build import compile_check
from kzlib.verifier.pool import ForkServer

BLOCK = 8  # tasks handed to the verifier at once
GPU_BLOCK = 50  # there: so that builds fill the cores


@dataclass
class Row:
    """One task and backend: whether a kernel was emitted for it as written, and what the verifier said."""

    source: str
    task: str
    backend: str
    where: str
    emitted: str = ""
    outcome: str = ""
    speedup: str = ""
    seconds: str = ""  # of the verdict, without waiting for memory and for turns
    why: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.source, self.task, self.backend


def read(path: Path, again: bool) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = [Row(**r) for r in csv.DictReader(file)]
    good = ("pass", "compiles")
    return [r for r in rows if r.outcome in good or (not again and r.outcome != Outcome.INFRA.value)]


def write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)])
        writer.writeheader()
        writer.writerows(asdict(r) for r in rows)


def emit(task: Task, row: Row, small: Task | None, schedule: dict[str, object]) -> Candidate | None:
    """The kernel to judge: for the task as written, or for its small form where one is given."""
    try:
        candidate = solve(task, row.backend, schedule)  # type: ignore[arg-type]
        row.emitted = "yes"
        if small is None or row.backend == "cuda":
            return candidate
        return solve(small, row.backend, {**INTERPRETED, **schedule, **SMALL})  # type: ignore[arg-type]
    except Unsupported as error:
        row.outcome, row.why = row.outcome or "no kernel", str(error)
        return None


SMALL = {key: INTERPRETED[key] for key in ("block", "tile", "fit")}


def shrunk(task: Task, server: ForkServer) -> Task:
    found = shrink_with(task, server)
    if not found.runs:
        raise ValueError(f"runs at no small size: {found.message}")
    return found.task


def judge(todo: list[tuple[Task, Candidate, Row]], verifier: Verifier, until: float) -> Iterator[Row]:
    """Rows as they are filled in; those whose time did not come are left out."""
    if verifier.device == "cpu":
        for _, candidate, row in (t for t in todo if t[2].backend == "cuda"):
            failure = compile_check(candidate)
            row.outcome, row.why = ("compiles", "") if failure is None else (failure[0].value, first_line(failure[2]))
            yield row
        todo = [t for t in todo if t[2].backend == "triton"]
    rows = {candidate.id: row for _, candidate, row in todo}
    for verdict in verifier.verify([t for t, _, _ in todo], [c for _, c, _ in todo]):
        fill(rows[verdict.candidate_id], verdict)
        yield rows[verdict.candidate_id]
        if time.time() > until:
            break


def fill(row: Row, verdict: Verdict) -> None:
    row.outcome = verdict.outcome.value
    spent = verdict.seconds
    row.seconds = f"{spent['total'] - spent.get('memory_wait', 0) - spent.get('time_wait', 0):.2f}"
    row.why = "" if verdict.passed else first_line(verdict.message)
    if verdict.passed and verdict.timing and verdict.timing.kind == "measured":
        row.speedup = f"{verdict.timing.speedup:.3f}"


def first_line(message: str) -> str:
    return message.strip().splitlines()[0][:160] if message.strip() else ""


def label(spec: str) -> str:
    """
    >>> label("kernelbench:/some/where:level1")
    'kernelbench level1'
    """
    return " ".join(p for p in spec.split(":") if "/" not in p)


def waiting(options: argparse.Namespace, device: str, done: set[tuple[str, str, str]]) -> Iterator[tuple[Task, Row]]:
    where = "interpreter, shrunk" if device == "cpu" else device_name()
    for spec in options.tasks:
        for task in load_tasks(spec)[: options.limit]:
            for backend in options.backends:
                place = "nvcc, as written" if (device, backend) == ("cpu", "cuda") else where
                row = Row(label(spec), Path(task.origin).stem, backend, place)
                if row.key not in done:
                    yield task, row


def device_name() -> str:
    import torch

    return torch.cuda.get_device_name(0)


def run(options: argparse.Namespace, verifier: Verifier, rows: list[Row], until: float) -> bool:
    """Emit and judge what the file does not hold yet; False when time ran out."""
    pending = list(waiting(options, verifier.device, {r.key for r in rows}))
    server = trial_server() if verifier.device == "cpu" else None
    schedule = {**PLAIN, **json.loads(options.schedule)}
    small: dict[str, Task] = {}

    def made(pair: tuple[Task, Row]) -> Candidate | None:
        task, row = pair
        try:
            if server is not None and row.backend == "triton":
                small[task.id] = shrunk(task, server)
            return emit(task, row, small.get(task.id), schedule)
        except ValueError as error:
            row.outcome, row.why = "not shrunk", str(error)
            return None

    def done(row: Row) -> None:
        rows.append(row)
        write(options.csv, rows)
        print(f"\r{sum(r.outcome != '' for _, r in pending)}/{len(pending)}", end="", file=sys.stderr, flush=True)

    size = BLOCK if server else GPU_BLOCK
    pool = ThreadPoolExecutor(1 if server else 8)
    emitted = pool.map(made, pending)  # the next block is emitted while this one is judged
    try:
        for start in range(0, len(pending), size):
            todo = []
            for (task, row), candidate in zip(pending[start : start + size], emitted, strict=False):
                if candidate is None:
                    done(row)
                    continue
                todo.append((small.get(task.id, task) if row.backend == "triton" else task, candidate, row))
                keep(options.keep, row, candidate)
            for row in judge(todo, verifier, until):
                done(row)
            if time.time() > until:
                return all(row.outcome for _, row in pending)
    finally:
        pool.shutdown(cancel_futures=True)
        if server is not None:
            server.close()
    return True


def keep(folder: Path | None, row: Row, candidate: Candidate) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{row.source.replace(' ', '_')}.{row.task}.{row.backend}.py").write_text(candidate.source)


def table(rows: Sequence[Row]) -> str:
    """What passes, a line a source and backend; then a line a task."""
    rows = sorted(rows, key=lambda r: (r.source, int(r.task.partition("_")[0]) if r.task[:1].isdigit() else 0, r.task))
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for r in rows:
        groups[(r.source, r.backend, r.where)].append(r)
    lines = ["| tasks | backend | where | tasks | emitted | pass | other outcomes | median speedup | faster |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]  # fmt: skip
    for (source, backend, where), group in groups.items():
        outcomes = Counter(r.outcome for r in group)
        good = outcomes["pass"] + outcomes["compiles"]
        others = ", ".join(f"{k} {v}" for k, v in outcomes.most_common() if k not in ("pass", "compiles"))
        speed = sorted(float(r.speedup) for r in group if r.speedup)
        middle, faster = (f"{speed[len(speed) // 2]:.2f}", str(sum(s > 1 for s in speed))) if speed else ("", "")
        emitted = sum(r.emitted == "yes" for r in group)
        lines.append(f"| {source} | {backend} | {where} | {len(group)} | {emitted} | {good} | {others} | {middle} | {faster} |")  # fmt: skip  # noqa: E501
    backends = list(dict.fromkeys(r.backend for r in rows))
    lines += ["", f"| task | {' | '.join(backends)} | why not |", "| --- |" + " --- |" * (len(backends) + 1)]
    by_task: dict[tuple[str, str], dict[str, Row]] = defaultdict(dict)
    for r in rows:
        by_task[(r.source, r.task)][r.backend] = r
    for (source, task), found in by_task.items():
        said = [cell(found.get(b)) for b in backends]
        why = "; ".join(dict.fromkeys(r.why.replace("|", "/") for r in found.values() if r.why))
        lines.append(f"| {source.split()[-1]} {task} | {' | '.join(said)} | {why} |")
    return "\n".join(lines) + "\n"


def cell(row: Row | None) -> str:
    if row is None:
        return ""
    return f"{row.outcome} ({row.speedup}x)" if row.speedup else row.outcome


HEAD = """# The teacher on tasks that others wrote

Which tasks get a kernel from the teacher, which of those pass the strict verifier, and why not. Without a GPU, tasks
are shrunk and Triton is interpreted, CUDA is compiled as written. Written by `python scripts/teacher_on_tasks.py`; the
tasks themselves are read from a checkout and are neither stored nor trained on.

"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help="what kzlib.tasks.load_tasks takes, such as kernelbench:PATH:level1")
    parser.add_argument("--backends", nargs="+", default=["triton"], choices=("triton", "cuda"))
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:0")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--limit", type=int, help="only the first tasks of each source")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this long; call again to go on")
    parser.add_argument("--schedule", default="{}", help='JSON over the plain schedule: {"precision": "tf32x3"}')
    parser.add_argument("--again", action="store_true", help="try again what did not pass")
    parser.add_argument("--csv", type=Path, default=Path("teacher_tasks.csv"))
    parser.add_argument("--table", type=Path, help="write the table here (Markdown)")
    parser.add_argument("--keep", type=Path, help="folder for the candidates")
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    rows = read(options.csv, options.again)
    with Verifier(device=resolve_device(options.device), workers=options.workers) as verifier:
        complete = run(options, verifier, rows, until)
    text = table(rows)
    if options.table:
        options.table.write_text(HEAD + text)
    print(text)
    if not complete:
        print("Time is up: the same call goes on from here.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
