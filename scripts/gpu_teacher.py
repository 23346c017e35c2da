"""Does what the teacher writes pass the strict verifier? Random modules of all families, on a GPU or interpreted.

    python scripts/gpu_teacher.py --n 500 --minutes 8 --csv teacher_gpu.csv
    python scripts/gpu_teacher.py --n 1100 --backends triton --device cpu --csv teacher_cpu.csv --table table.md

`--n` counts samples a backend and style (plain, varied). One CSV row a verdict, written as it comes: a second call with
the same file goes on where the first stopped. The table is of everything in the file.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from kzlib.records import Verdict
from kzlib.teacher import Sample, generate
from kzlib.teacher.sample import STYLES
from kzlib.verifier import Verifier, resolve_device

FIELDS = ("backend", "styles", "family", "task", "candidate", "outcome", "stage", "where", "speedup", "apis", "message")
NOT_JUDGED = ("invalid_task", "unsupported", "infra")
BLOCK = 256  # samples handed to the verifier at once

Row = dict[str, str]


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


def row(sample: Sample, styles: str, verdict: Verdict) -> Row:
    message = " ".join(verdict.message.split())[:240] if not verdict.passed else ""
    return {
        "backend": sample.candidate.backend,
        "styles": styles,
        "family": sample.family,
        "task": sample.task.id,
        "candidate": sample.candidate.id,
        "outcome": verdict.outcome.value,
        "stage": verdict.stage,
        "where": verdict.where,
        "speedup": f"{verdict.timing.speedup:.3f}" if verdict.passed and verdict.timing else "",
        "apis": " ".join(sample.task.apis),
        "message": message,
    }


def read(path: Path) -> list[Row]:
    """Verdicts so far. Those about our own machine are forgotten, so that they are tried again."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [r for r in csv.DictReader(file) if r["outcome"] != "infra"]


def write(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


def blocks(samples: Iterator[Sample]) -> Iterator[list[Sample]]:
    held: list[Sample] = []
    for sample in samples:
        held.append(sample)
        if len(held) == BLOCK:
            yield held
            held = []
    if held:
        yield held


def noted(samples: Iterator[Sample], current: set[str]) -> Iterator[Sample]:
    for sample in samples:
        current.add(sample.candidate.id)
        yield sample


def keep_failure(folder: Path, sample: Sample, verdict: Verdict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{sample.task.source}\n# ---- {verdict.outcome.value}: {' '.join(verdict.message.split())[:200]}\n"
    (folder / f"{sample.family}.{sample.candidate.id}.py").write_text(text + sample.candidate.source)


def run(options: argparse.Namespace, verifier: Verifier, rows: list[Row], until: float) -> bool:
    """Judge what the file does not hold yet; False when time ran out."""
    done, current = {r["candidate"] for r in rows}, set[str]()
    with options.csv.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        for backend, styles in ((b, s) for b in options.backends for s in options.styles):
            seed = options.seed + (styles == "varied")  # other modules, not the same ones in other words
            stream = noted(generate(options.n, seed, backend, options.family, styles, options.workers), current)
            for made in blocks(s for s in stream if s.candidate.id not in done):
                by_id = {s.candidate.id: s for s in made}
                for verdict in verifier.verify([s.task for s in made], [s.candidate for s in made]):
                    sample = by_id[verdict.candidate_id]
                    rows.append(row(sample, styles, verdict))
                    writer.writerow(rows[-1])
                    file.flush()
                    if options.keep is not None and not verdict.passed:
                        keep_failure(options.keep, sample, verdict)
                    print(f"\r{len(rows)} {backend} {styles}", end="", file=sys.stderr, flush=True)
                    if time.time() > until:
                        return False
    rows[:] = [r for r in rows if r["candidate"] in current]  # not those of an earlier version of the teacher
    write(options.csv, rows)
    return True


def line(name: str, rows: Sequence[Row]) -> str:
    outcomes = Counter(r["outcome"] for r in rows)
    judged = sum(k for outcome, k in outcomes.items() if outcome not in NOT_JUDGED)
    low, high = wilson(outcomes["pass"], judged)
    speed = sorted(float(r["speedup"]) for r in rows if r["speedup"])
    median = f"{speed[len(speed) // 2]:.2f}" if speed else ""
    others = ", ".join(f"{k} {v}" for k, v in outcomes.most_common() if k != "pass")
    share = f"{outcomes['pass'] / judged:.2%}" if judged else ""
    return f"| {name} | {judged} | {outcomes['pass']} | {share} | {low:.1%} to {high:.1%} | {median} | {others} |"


def table(rows: Sequence[Row]) -> str:
    """Shares with intervals: a backend and style, then a family."""
    where = ", ".join(sorted({r["where"] for r in rows if r["where"]}))
    lines = [
        f"Where: {where}. Speedup: median of passing kernels (modelled in the interpreter, measured on a GPU).",
        "",
        "| samples | judged | pass | share | 95 % interval | speedup | other outcomes |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for backend in sorted({r["backend"] for r in rows}):
        ours = [r for r in rows if r["backend"] == backend]
        lines.append(line(f"**{backend}, all**", ours))
        groups: dict[str, list[Row]] = defaultdict(list)
        for r in ours:
            groups[f"{backend}, {r['styles']} style"].append(r)
        for r in sorted(ours, key=lambda r: r["family"]):
            groups[f"{backend}, {r['family']}"].append(r)
        lines += [line(name, group) for name, group in groups.items()]
    failed = [r for r in rows if r["outcome"] not in ("pass", *NOT_JUDGED)]
    lines += ["", "What failed:", ""] if failed else []
    lines += [f"- {r['backend']}, {r['family']}, {r['outcome']} at {r['stage']} [{r['apis']}]: {r['message'][:160]}"
              for r in failed[:40]]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500, help="samples a backend and style")
    parser.add_argument("--backends", nargs="+", default=["triton", "cuda"], choices=("triton", "cuda"))
    parser.add_argument("--styles", nargs="+", default=["plain", "varied"], choices=tuple(STYLES))
    parser.add_argument("--family", action="append", help="only this family (may be repeated)")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda:0")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after this long; call again to go on")
    parser.add_argument("--csv", type=Path, default=Path("teacher_pass.csv"), help="verdicts, one a row")
    parser.add_argument("--table", type=Path, help="write the table here too (Markdown)")
    parser.add_argument("--keep", type=Path, help="folder for failing kernels")
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    device = resolve_device(options.device)
    if device == "cpu" and "cuda" in options.backends:
        raise SystemExit("no GPU to run CUDA kernels: give --backends triton")
    rows = read(options.csv)
    write(options.csv, rows)
    with Verifier(device=device, workers=options.workers) as verifier:
        complete = run(options, verifier, rows, until)
    text = table(rows)
    if options.table:
        options.table.write_text("# Teacher's kernels through the strict verifier\n\n" + text)
    print("\n" + text)
    if not complete:
        print("Time is up: the same call goes on from here.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
