"""Judge the zoo on this machine's GPU: `python scripts/gpu_check.py --csv docs/verifier_zoo.cuda.csv`.

Every case has an outcome it must get; the script prints the ones that got another, counts, and seconds per stage, and
exits 1 if a dishonest case passed. The CSV has the columns from which `zoo_report.py --only table` makes the docs; it
grows with every verdict, so what was judged is kept whatever ends the run. Limits are shorter than users get.
With `--device cpu` the same runs on the interpreter, with the cases it can show.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import dataclasses
import itertools
import random
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import zoo_report

from kzlib.records import Outcome, Verdict
from kzlib.verifier import Verifier
from kzlib.verifier.protocols import PROTOCOLS
from tests import zoo


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=0, help="cases, drawn at random; 0 = all")
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=540.0, help="stop after so long, with what there is by then")
    parser.add_argument("--run-seconds", type=float, default=8.0, help="limit of one call of a candidate")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    gpu = arguments.device != "cpu"
    cases = [case for case in zoo.cases(gpu=gpu) if arguments.match in case.name]
    random.Random(0).shuffle(cases)  # noqa: S311 - slow and quick ones side by side
    cases = long_first(cases[: arguments.limit or len(cases)])
    PROTOCOLS["strict"] = dataclasses.replace(
        PROTOCOLS["strict"], run_seconds=arguments.run_seconds, load_seconds=1.5 * arguments.run_seconds
    )
    start = time.monotonic()
    with Verifier(device=arguments.device, workers=arguments.workers) as verifier:
        if gpu:
            print("walls:", *_walls(verifier), flush=True)
        began = time.monotonic()
        rows: list[tuple[Any, Verdict]] = []
        try:
            with kept(arguments.csv) as keep:
                for case, verdict in judge(verifier, cases, gpu, began + arguments.seconds):
                    rows.append((case, verdict))
                    keep(zoo_report.row_of(case, verdict, gpu))
        finally:
            seconds = time.monotonic() - began
            report(rows, cases, seconds, began - start, gpu)
    return 1 if dishonest_passed(rows, gpu) else 0


def long_first(cases: list[Any]) -> list[Any]:
    """Cases that end at a limit, then those that are built, each beside a quick one, so that the device has work."""

    def length(case: Any) -> int:
        ends = {Outcome.TIMEOUT, Outcome.COMPILE_TIMEOUT} & case.expected(gpu=True)
        return 0 if ends else 1 if case.backend == "cuda" else 2

    ordered = sorted(cases, key=length)
    long = [case for case in ordered if length(case) < 2]
    quick = ordered[len(long) :]
    pairs = itertools.zip_longest(long, quick)
    return [case for pair in pairs for case in pair if case is not None]


@contextlib.contextmanager
def kept(path: Path | None) -> Iterator[Any]:
    """A function that adds a row to a CSV file at once; at a good end the rows are sorted."""
    if path is None:
        yield lambda row: None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer: csv.DictWriter[str] | None = None

        def keep(row: dict[str, str]) -> None:
            nonlocal writer
            if writer is None:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
            writer.writerow(row)
            file.flush()

        yield keep
    if rows := zoo_report.read_csv(path):
        zoo_report.write_csv(path, sorted(rows, key=lambda row: row["case"]))


def report(rows: list[tuple[Any, Verdict]], cases: list[Any], seconds: float, started: float, gpu: bool) -> None:
    """Everything printed at the end."""
    print(f"{len(rows)} of {len(cases)} cases in {seconds:.1f} s ({started:.1f} s to start), "
          f"{len(rows) / seconds:.2f} a second")  # fmt: skip
    stages: dict[str, list[float]] = collections.defaultdict(list)
    for _, verdict in rows:
        for name, value in verdict.seconds.items():
            stages[name].append(value)
    for name, values in sorted(stages.items()):
        print(f"  {name:20s} median {statistics.median(values):7.3f} s  max {max(values):7.3f} s  n {len(values)}")
    slowest = sorted(rows, key=lambda row: -row[1].seconds.get("total", 0.0))[:8]
    print("slowest:", *(f"{case.name} {v.seconds.get('total', 0.0):.1f} s" for case, v in slowest), sep="\n  ")
    table(rows, gpu)


def judge(verifier: Any, cases: list[Any], gpu: bool, until: float) -> Iterator[tuple[Any, Verdict]]:
    """Each case with its verdict, until the time is up; what got another outcome than it must is printed at once."""
    by_id: dict[str, list[Any]] = collections.defaultdict(list)
    for case in cases:
        by_id[case.candidate.id].append(case)
    for verdict in verifier.verify(zoo.tasks().values(), [case.candidate for case in cases]):
        case = by_id[verdict.candidate_id].pop(0)
        yield case, verdict
        if verdict.outcome not in case.expected(gpu=gpu):
            expected = "|".join(sorted(case.expected(gpu=gpu)))
            print(f"{case.name}: {verdict.outcome} for {expected}: {verdict.message[:200]!r}", flush=True)
        if time.monotonic() > until:
            break


def dishonest_passed(rows: list[tuple[Any, Verdict]], gpu: bool) -> list[str]:
    """Dishonest cases that passed; those that a device may pass (a label, not a crime) are no part of the rate."""
    return [c.name for c, v in rows if not c.honest and v.passed and Outcome.PASS not in c.expected(gpu=gpu)]


def table(rows: list[tuple[Any, Verdict]], gpu: bool) -> None:
    """Counts by expected and got outcome; dishonest cases that passed; honest ones that were rejected, and why."""
    counts = collections.Counter(
        ("honest" if c.honest else "dishonest", "|".join(sorted(c.expected(gpu=gpu))), str(v.outcome),
         "" if v.outcome in c.expected(gpu=gpu) else "<-- other")
        for c, v in rows
    )  # fmt: skip
    print(f"{'kind':10s} {'expected':52s} {'got':14s} {'n':>4s}")
    for (kind, expected, got, odd), n in sorted(counts.items()):
        print(f"{kind:10s} {expected[:52]:52s} {got:14s} {n:4d} {odd}")
    counted = [c for c, _ in rows if not c.honest and Outcome.PASS not in c.expected(gpu=gpu)]
    passed = dishonest_passed(rows, gpu)
    print(f"dishonest passed: {zoo_report.interval(len(passed), len(counted))}", *passed, sep="\n  ")
    honest = [(c, v) for c, v in rows if c.honest and v.judged and Outcome.PASS in c.expected(gpu=gpu)]
    rejected = [f"{c.name}: {v.outcome}: {first_line(v)}" for c, v in honest if not v.passed]
    print(f"honest rejected: {zoo_report.interval(len(rejected), len(honest))}", *rejected, sep="\n  ")
    unjudged = [f"{c.name}: {v.outcome}: {first_line(v)}" for c, v in rows if not v.judged]
    print(f"not judged: {len(unjudged)}", *unjudged, sep="\n  ")


def first_line(verdict: Verdict) -> str:
    """Of what was said."""
    return (verdict.message.splitlines() or [""])[0][:160]


def _walls(verifier: Any) -> list[str]:
    with verifier.server().fork("kzlib.verifier.gpu_child:context_main") as child:
        child.send({})
        answer = child.receive(60.0)
        seconds = f"context {answer['seconds']:.2f} s" if "seconds" in answer else answer["message"]
        return [seconds, *answer["walls"]]


if __name__ == "__main__":
    sys.exit(main())
