"""Judge the zoo on this machine's GPU and write a table: `python scripts/gpu_check.py [--limit N] [--csv FILE]`.

Every case has an outcome it must get; the script prints the ones that got another, counts, and seconds per stage, and
exits 1 if a dishonest case passed.
"""

from __future__ import annotations

import argparse
import collections
import csv
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def main() -> int:
    from kzlib.records import Verdict
    from kzlib.verifier import Verifier
    from tests import zoo

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=0, help="cases, drawn at random; 0 = all")
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    cases = [case for case in zoo.cases(gpu=True) if arguments.match in case.name]
    if arguments.limit:
        cases = random.Random(0).sample(cases, min(arguments.limit, len(cases)))  # noqa: S311
    start = time.monotonic()
    by_id = {case.candidate.id: case for case in cases}
    rows: list[tuple[zoo.Case, Verdict]] = []
    with Verifier(device="cuda:0", workers=arguments.workers) as verifier:
        print("walls:", *_walls(verifier), flush=True)
        began = time.monotonic()
        for verdict in verifier.verify(zoo.tasks().values(), [case.candidate for case in by_id.values()]):
            case = by_id[verdict.candidate_id]
            rows.append((case, verdict))
            if verdict.outcome not in case.expected(gpu=True):
                expected = "|".join(sorted(case.expected(gpu=True)))
                print(f"{case.name}: {verdict.outcome} for {expected}: {verdict.message[:200]!r}", flush=True)
    seconds = time.monotonic() - began
    passed = [case.name for case, verdict in rows if not case.honest and verdict.passed]
    honest = [verdict for case, verdict in rows if case.honest]
    print(f"{len(rows)} cases in {seconds:.1f} s ({began - start:.1f} s to start), {len(rows) / seconds:.2f} a second")
    print("outcomes:", dict(collections.Counter(str(v.outcome) for _, v in rows)))
    print(f"dishonest passed: {len(passed)} {passed[:10]}; honest: {sum(v.passed for v in honest)} of {len(honest)}")
    stages: dict[str, list[float]] = collections.defaultdict(list)
    for _, verdict in rows:
        for name, value in verdict.seconds.items():
            stages[name].append(value)
    for name, values in sorted(stages.items()):
        print(f"  {name:20s} median {statistics.median(values):7.3f} s  max {max(values):7.3f} s  n {len(values)}")
    if arguments.csv:
        _write(arguments.csv, rows)
    return 1 if passed else 0


def _walls(verifier: object) -> list[str]:
    with verifier.server().fork("kzlib.verifier.gpu_child:context_main") as child:  # type: ignore[attr-defined]
        child.send({})
        answer = child.receive(60.0)
        seconds = f"context {answer['seconds']:.2f} s" if "seconds" in answer else answer["message"]
        return [seconds, *answer["walls"]]


def _write(path: Path, rows: list) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["case", "expected", "outcome", "stage", "where", "speedup", "launch_bound", "spread", "seconds", "message"]
        )
        for case, v in sorted(rows, key=lambda row: row[0].name):
            t = v.timing
            writer.writerow(
                [
                    case.name,
                    "|".join(sorted(case.expected(gpu=True))),
                    v.outcome,
                    v.stage,
                    v.where,
                    t.speedup if t else "",
                    t.launch_bound if t else "",
                    t.spread if t else "",
                    v.seconds.get("total", ""),
                    v.message[:200],
                ]
            )


if __name__ == "__main__":
    sys.exit(main())
