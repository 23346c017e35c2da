"""A Coder on benchmark tasks at full size, strict, for as many minutes as there are: answers, verdicts, scores.

    python scripts/gpu_kernelbench.py outputs/gpu_mini/s1/checkpoints/coder.r2 --out OUT --minutes 4 \\
        kernelbench:CHECKOUT:level1 kernelbench:CHECKOUT:level2

Tasks are taken in blocks spread over all sources, so that a run that time cuts short has seen all of them in part; the
scores are of the tasks that were judged, and their number is told. The same call goes on where the last one stopped.
The checkout is read, never stored. Source: issue 10, item 1 and its last bar but one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kzlib import contamination, evaluation, metrics, policy, scores
from kzlib.contenders import Contender, checkpoint_digest, opened
from kzlib.metrics import Attempt, outcome_counts
from kzlib.records import Outcome, Task, read_jsonl
from kzlib.tasks import load_tasks
from kzlib.training import resolve_device
from kzlib.verifier import Verifier

BLOCK = 16  # tasks sampled and judged together
OUTCOMES = [outcome.value for outcome in Outcome]

Block = tuple[str, int, list[Task]]


def blocks(sources: dict[str, list[Task]], size: int = BLOCK) -> Iterator[Block]:
    """Each source in turn, every block spread over its source.

    >>> [(s, n, [t.source for t in b]) for s, n, b in blocks({"a": [Task(c) for c in "wxyz"], "b": [Task("v")]}, 2)]
    [('a', 0, ['w', 'y']), ('b', 0, ['v']), ('a', 1, ['x', 'z'])]
    """
    cut = {
        name: [(name, i, tasks[i :: -(-len(tasks) // size)]) for i in range(-(-len(tasks) // size))]
        for name, tasks in sources.items()
    }
    for turn in itertools.zip_longest(*cut.values()):
        yield from filter(None, turn)


def run(args: argparse.Namespace, sources: dict[str, list[Task]]) -> list[Attempt]:
    """Attempts of every block that was finished in time."""
    until = time.monotonic() + 60 * args.minutes
    device = resolve_device("auto")
    who = Contender(args.coder.name, str(args.coder), checkpoint_digest(args.coder))
    how = (device, "transformers", "compact", args.tokens, args.temperature, 1.0, args.seed)
    attempts: list[Attempt] = []
    with Verifier(device, args.workers) as verifier, opened(who, *how) as coder:

        def judge(tasks: list[Task], candidates: list[Any], protocol: str) -> Any:
            return verifier.verify(tasks, candidates, protocol=protocol)

        for source, number, tasks in blocks(sources):
            if time.monotonic() > until:
                print("Time is up: the same call goes on from here.")
                break
            subject = evaluation.Subject(who.name, source, args.backend, args.samples, args.seed, coder.settings)
            folder = args.out / f"{subject.stem}.{number}"
            attempts += evaluation.evaluate(
                subject, tasks, coder.write, judge, coder.prompt(args.backend), folder, chunk=BLOCK
            )
            print(f"{subject.stem}, block {number}: {dict(outcome_counts(attempts))}", flush=True)
    return attempts


def page(attempts: Sequence[Attempt]) -> str:
    """Markdown: pass@k and fast_1@k with intervals by level, then how answers ended. From the attempts alone.

    >>> from kzlib.records import Outcome
    >>> two = [Attempt("a", k, Outcome.PASS if k else Outcome.WRONG, task_set="mine", level=1) for k in range(2)]
    >>> print(page(two).splitlines()[2])
    | mine | 1 | pass@1 | 0.500 | - | - | 1 |
    """
    samples = 1 + max(item.sample for item in attempts)
    lines = [
        "| tasks | level | score | value | from | to | judged tasks |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in scores.score(attempts, sorted({1, samples}), [1.0], 0):
        if row["level"] and row["metric"] in ("pass", "fast_1"):
            numbers = " | ".join("-" if row[k] is None else f"{row[k]:.3f}" for k in ("value", "low", "high"))
            lines.append(
                f"| {row['task_set']} | {row['level']} | {row['metric']}@{row['k']} | {numbers} | {row['tasks']} |"
            )
    levels = sorted({item.level for item in attempts})
    lines += ["", "| level | tasks | answers | " + " | ".join(OUTCOMES) + " |", "| --- " * (3 + len(OUTCOMES)) + "|"]
    for level in levels:
        own = [item for item in attempts if item.level == level]
        counts = outcome_counts(own)
        lines.append(
            f"| {level} | {len({a.task_id for a in own})} | {len(own)} | "
            + " | ".join(str(counts.get(name, 0)) for name in OUTCOMES)
            + " |"
        )
    return "\n".join(lines) + "\n"


def overlap(attempts: Sequence[Attempt], tasks: Sequence[Task], seen: Sequence[Task]) -> str:
    """Markdown: the judged tasks against the modules seen in training, and pass@1 of each finding."""
    judged = {item.task_id for item in attempts}
    report = contamination.compare([task for task in tasks if task.id in judged], seen)
    lines = [
        f"Against {len(seen):,} modules seen in training:",
        "",
        "| finding | tasks | pass@1 |",
        "| --- | --- | --- |",
    ]
    for finding, count in report.counts().items():
        own = {row.task_id for row in report.rows if row.finding == finding}
        rate = metrics.pass_at([item for item in attempts if item.task_id in own], 1).value
        lines.append(f"| {finding} | {count} | {'-' if rate is None else f'{rate:.3f}'} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("coder", type=Path, help="a checkpoint's folder")
    parser.add_argument("sources", nargs="+", help="task sources, kernelbench:CHECKOUT:level1 for one")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--samples", type=int, default=10, help="answers a task (n)")
    parser.add_argument("--backend", default="triton", choices=("triton", "cuda"))
    parser.add_argument("--tokens", type=int, default=1280, help="longest answer")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=6, help="full-size tasks judged at once")
    parser.add_argument("--seen", type=Path, nargs="*", default=[], help="tasks.jsonl files of its training")
    args = parser.parse_args()
    policy.quiet()
    if not args.coder.is_dir():
        raise SystemExit(
            f"{args.coder} is no checkpoint: give a folder such as outputs/PROFILE/RUN/checkpoints/coder.r2"
        )
    sources = {source: load_tasks(source) for source in args.sources}
    attempts = run(args, sources)
    if not attempts:
        raise SystemExit("no block was finished: give more --minutes")
    args.out.mkdir(parents=True, exist_ok=True)
    scores.write_attempts(args.out / "attempts.csv", attempts)
    text = page(attempts)
    if args.seen:
        tasks = [task for found in sources.values() for task in found]
        text += "\n" + overlap(attempts, tasks, [task for path in args.seen for task in read_jsonl(path, Task)])
    (args.out / "page.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
