"""On a GPU machine: does what the teacher writes pass there? Generates, verifies on the device, prints shares by
family.

python scripts/gpu_teacher.py --n 1000 --styles plain varied --out teacher_gpu.json
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from kzlib.teacher import Sample, generate
from kzlib.verifier import Verifier


def wilson(passed: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a share.

    >>> [round(v, 3) for v in wilson(99, 100)]
    [0.946, 0.998]
    """
    if n == 0:
        return 0.0, 1.0
    p = passed / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


def judge(samples: list[Sample], device: str, workers: int | None, keep: Path | None) -> dict[str, Any]:
    """Outcomes by family, what failed and why, and seconds."""
    by_id = {s.candidate.id: s for s in samples}
    families: dict[str, Counter[str]] = defaultdict(Counter)
    failures: list[dict[str, str]] = []
    speedups: list[float] = []
    started = time.time()
    with Verifier(device=device, workers=workers) as verifier:
        for k, verdict in enumerate(verifier.verify([s.task for s in samples], [s.candidate for s in samples]), 1):
            sample = by_id[verdict.candidate_id]
            families[sample.family][verdict.outcome.value] += 1
            if verdict.passed and verdict.timing:
                speedups.append(verdict.timing.speedup)
            if not verdict.passed:
                failures.append({"family": sample.family, "outcome": verdict.outcome.value, "stage": verdict.stage,
                                 "apis": ", ".join(sample.task.apis), "message": verdict.message[:300]})  # fmt: skip
                if keep is not None and verdict.judged:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{sample.candidate.id}.py").write_text(
                        f"{sample.task.source}\n# ----\n{sample.candidate.source}"
                    )
            print(f"\r{k}/{len(samples)}", end="", file=sys.stderr, flush=True)
    seconds = time.time() - started
    total = sum(families.values(), Counter())
    judged = sum(n for outcome, n in total.items() if outcome not in ("invalid_task", "unsupported", "infra"))
    low, high = wilson(total["pass"], judged)
    speedups.sort()
    return {
        "device": device,
        "outcomes": dict(total),
        "judged": judged,
        "share": total["pass"] / max(1, judged),
        "interval": [low, high],
        "families": {f: dict(c) for f, c in sorted(families.items())},
        "failures": failures,
        "seconds": round(seconds, 1),
        "median_speedup": speedups[len(speedups) // 2] if speedups else None,
    }


def show(title: str, report: dict[str, Any]) -> None:
    low, high = report["interval"]
    print(
        f"\n{title}: {report['outcomes'].get('pass', 0)} of {report['judged']} judged pass "
        f"({report['share']:.1%}, 95 % interval {low:.1%} to {high:.1%}); {report['seconds']} s; "
        f"all outcomes {report['outcomes']}"
    )
    for family, outcomes in report["families"].items():
        print(f"  {family:16} {outcomes}")
    for failure in report["failures"][:20]:
        print(
            f"  - {failure['outcome']} at {failure['stage']}, {failure['family']} [{failure['apis']}]: "
            f"{failure['message']}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="samples a backend and style")
    parser.add_argument("--backends", nargs="+", default=["triton", "cuda"])
    parser.add_argument("--styles", nargs="+", default=["plain", "varied"])
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, help="write the reports here as JSON")
    parser.add_argument("--keep", type=Path, help="folder for failing kernels")
    options = parser.parse_args()
    from kzlib.verifier import resolve_device

    device = resolve_device(options.device)
    reports = {}
    for backend in options.backends:
        for style in options.styles:
            samples = list(generate(options.n, options.seed, backend=backend, styles=style, workers=options.workers))
            reports[f"{backend} {style}"] = judge(samples, device, options.workers, options.keep)
            show(f"{backend}, {style}", reports[f"{backend} {style}"])
            if options.out:
                options.out.write_text(json.dumps(reports, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
