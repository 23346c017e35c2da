"""How far the teacher gets on tasks that others wrote: which get a kernel, which pass, and why not.

    python scripts/teacher_on_tasks.py kernelbench:PATH:level1 --backend triton --out table.md

Without a GPU the tasks are shrunk and Triton runs in the interpreter; CUDA is then only printed. The tasks' text is
read
from the path that is given and never stored; the table holds names and reasons.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from kzlib.records import Candidate, Task, Verdict
from kzlib.shrink import shrink_with, trial_server
from kzlib.tasks import load_tasks
from kzlib.teacher import Unsupported, solve
from kzlib.teacher.schedule import INTERPRETED


@dataclass
class Row:
    """One task: whether a kernel was emitted for it as written, and what the verifier said."""

    name: str
    emitted: bool
    reason: str = ""
    outcome: str = ""
    message: str = ""


def emit(tasks: list[Task], backend: str, small: bool) -> tuple[list[Row], list[tuple[Task, Candidate, Row]]]:
    """A row a task, and what the verifier is to judge (on shrunk tasks where `small`)."""
    rows, todo = [], []
    server = trial_server()
    for task in tasks:
        row = Row(Path(task.origin).stem, False)
        rows.append(row)
        try:
            candidate = solve(task, backend)  # type: ignore[arg-type]
            row.emitted = True
            if small:
                found = shrink_with(task, server)
                if not found.runs:
                    raise ValueError(f"runs at no small size: {found.message}")
                candidate = solve(found.task, backend, INTERPRETED)  # type: ignore[arg-type]
        except (Unsupported, ValueError) as error:
            row.reason = str(error)
            continue
        todo.append((found.task if small else task, candidate, row))
        print(f"\r{len(rows)}/{len(tasks)} emitted", end="", file=sys.stderr, flush=True)
    server.close()
    return rows, todo


def judge(todo: list[tuple[Task, Candidate, Row]], device: str, workers: int | None, keep: Path | None) -> None:
    from kzlib.verifier import Verifier

    rows = {candidate.id: row for _, candidate, row in todo}
    with Verifier(device=device, workers=workers) as verifier:
        for k, verdict in enumerate(verifier.verify([t for t, _, _ in todo], [c for _, c, _ in todo]), 1):
            row = rows[verdict.candidate_id]
            row.outcome, row.message = verdict.outcome.value, first_line(verdict)
            print(f"\r{k}/{len(todo)}", end="", file=sys.stderr, flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        for _, candidate, row in todo:
            (keep / f"{row.name}.{candidate.backend}.py").write_text(candidate.source)


def first_line(verdict: Verdict) -> str:
    return verdict.message.strip().splitlines()[0][:160] if verdict.message.strip() else ""


def table(rows: list[Row], title: str, where: str) -> str:
    emitted = sum(r.emitted for r in rows)
    outcomes = Counter(r.outcome for r in rows if r.outcome)
    lines = [
        f"# {title}",
        "",
        f"Kernels emitted: {emitted} of {len(rows)}. Where: {where}. Verdicts: "
        + ", ".join(f"{k} {v}" for k, v in outcomes.most_common())
        + ".",
        "",
        "| task | emitted | verdict | why not |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {r.name} | {'yes' if r.emitted else 'no'} | {r.outcome} | {(r.reason or r.message).replace('|', '/')} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", help="what kzlib.tasks.load_tasks takes, such as kernelbench:PATH:level1")
    parser.add_argument("--backend", default="triton", choices=("triton", "cuda"))
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:0")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--out", type=Path, help="write the table here (Markdown)")
    parser.add_argument("--keep", type=Path, help="write the candidates here")
    options = parser.parse_args()
    from kzlib.verifier import resolve_device

    device = resolve_device(options.device)
    tasks = load_tasks(options.tasks)[: options.limit]
    started = time.time()
    rows, todo = emit(tasks, options.backend, small=device == "cpu")
    if device != "cpu" or options.backend == "triton":
        judge(todo, device, options.workers, options.keep)
    label = ":".join(p for p in options.tasks.split(":") if "/" not in p)
    text = table(
        rows, f"The teacher on {label}, {options.backend}", "interpreter, shrunk tasks" if device == "cpu" else device
    )
    if options.out:
        options.out.write_text(text)
    print(text)
    print(f"{time.time() - started:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
