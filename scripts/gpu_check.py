"""Judge the zoo on this machine's GPU: `python scripts/gpu_check.py --csv docs/verifier_zoo.cuda.csv`.

Every case has an outcome it must get; the script prints the ones that got another, counts, and seconds per stage, and
exits 1 if a dishonest case passed. The CSV has the columns from which `zoo_report.py --only table` makes the docs.
With `--device cpu` the same runs on the interpreter, with the cases it can show.
"""

from __future__ import annotations

import argparse
import collections
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import zoo_report

from kzlib.records import Verdict
from kzlib.verifier import Verifier
from tests import zoo


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=0, help="cases, drawn at random; 0 = all")
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=540.0, help="stop after so long, with what there is by then")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    gpu = arguments.device != "cpu"
    cases = [case for case in zoo.cases(gpu=gpu) if arguments.match in case.name]
    random.Random(0).shuffle(cases)  # noqa: S311 - slow and quick ones side by side
    cases = cases[: arguments.limit or len(cases)]
    start = time.monotonic()
    with Verifier(device=arguments.device, workers=arguments.workers) as verifier:
        if gpu:
            print("walls:", *_walls(verifier), flush=True)
        began = time.monotonic()
        rows = judge(verifier, cases, gpu, began + arguments.seconds)
        seconds = time.monotonic() - began
    table = sorted((zoo_report.row_of(case, verdict, gpu) for case, verdict in rows), key=lambda row: row["case"])
    if arguments.csv and table:
        zoo_report.write_csv(arguments.csv, table)
    print(f"{len(rows)} of {len(cases)} cases in {seconds:.1f} s ({began - start:.1f} s to start), "
          f"{len(rows) / seconds:.2f} a second")  # fmt: skip
    return summary(rows)


def judge(verifier: Any, cases: list[Any], gpu: bool, until: float) -> list[tuple[Any, Verdict]]:
    """Each case with its verdict, until the time is up; what got another outcome than it must is printed at once."""
    by_id: dict[str, list[Any]] = collections.defaultdict(list)
    for case in cases:
        by_id[case.candidate.id].append(case)
    rows = []
    for verdict in verifier.verify(zoo.tasks().values(), [case.candidate for case in cases]):
        case = by_id[verdict.candidate_id].pop(0)
        rows.append((case, verdict))
        if verdict.outcome not in case.expected(gpu=gpu):
            expected = "|".join(sorted(case.expected(gpu=gpu)))
            print(f"{case.name}: {verdict.outcome} for {expected}: {verdict.message[:200]!r}", flush=True)
        if time.monotonic() > until:
            break
    return rows


def summary(rows: list[tuple[Any, Verdict]]) -> int:
    """Print counts and seconds per stage; 1 if a dishonest case passed that must not."""
    passed = [case.name for case, v in rows if not case.honest and v.passed and not zoo_allows(case)]
    honest = [verdict for case, verdict in rows if case.honest]
    print("outcomes:", dict(collections.Counter(str(v.outcome) for _, v in rows)))
    print(f"dishonest passed: {len(passed)} {passed[:10]}; honest: {sum(v.passed for v in honest)} of {len(honest)}")
    stages: dict[str, list[float]] = collections.defaultdict(list)
    for _, verdict in rows:
        for name, value in verdict.seconds.items():
            stages[name].append(value)
    for name, values in sorted(stages.items()):
        print(f"  {name:20s} median {statistics.median(values):7.3f} s  max {max(values):7.3f} s  n {len(values)}")
    slowest = sorted(rows, key=lambda row: -row[1].seconds.get("total", 0.0))[:8]
    print("slowest:", *(f"{case.name} {v.seconds.get('total', 0.0):.1f} s" for case, v in slowest), sep="\n  ")
    return 1 if passed else 0


def zoo_allows(case: Any) -> bool:
    """Cases that a device may pass (a label, not a crime) are no part of the rate."""
    return "pass" in case.expected(gpu=True)


def _walls(verifier: Any) -> list[str]:
    with verifier.server().fork("kzlib.verifier.gpu_child:context_main") as child:
        child.send({})
        answer = child.receive(60.0)
        seconds = f"context {answer['seconds']:.2f} s" if "seconds" in answer else answer["message"]
        return [seconds, *answer["walls"]]


if __name__ == "__main__":
    sys.exit(main())
