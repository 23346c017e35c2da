"""The verifier's two rates, measured: dishonest kernels that pass, honest ones that are rejected; and mutants caught.

    python scripts/zoo_report.py                      all CPU cases, and 1000 mutants
    python scripts/zoo_report.py --device cuda:0      all cases on a GPU
    python scripts/zoo_report.py --only table         only write docs/verifier_figures.md from the CSV files

One CSV a device and kind under docs/, and docs/verifier_figures.md made from all of them. Source: issue 3, items 7, 8.
"""

from __future__ import annotations

import argparse
import collections
import csv
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kzlib.records import NOT_JUDGED, Candidate, Outcome, Verdict  # noqa: E402
from kzlib.verifier import Verifier, resolve_device  # noqa: E402
from kzlib.verifier.mutate import CLASSES, Mutant, mutants  # noqa: E402
from tests.zoo import Case, cases, tasks  # noqa: E402
from tests.zoo.values import classify  # noqa: E402

DOCS = ROOT / "docs"
GROUPS = {"A": "timing attacks", "B": "correctness attacks", "C": "substitution", "D": "harness and process"}
SKIPPED = frozenset(outcome.value for outcome in NOT_JUDGED)
Row = dict[str, str]


def interval(hits: int, total: int) -> str:
    """Share and 95 % Clopper-Pearson interval in per cent.

    >>> interval(0, 100), interval(5, 10)
    ('0.0 % (0.0-3.6)', '50.0 % (18.7-81.3)')
    """
    if not total:
        return "-"
    low = 0.0 if hits == 0 else _root(lambda p: _tail(hits, total, p) - 0.025)
    high = 1.0 if hits == total else _root(lambda p: 0.025 - (1 - _tail(hits + 1, total, p)))
    return f"{100 * hits / total:.1f} % ({100 * low:.1f}-{100 * high:.1f})"


def _tail(hits: int, total: int, p: float) -> float:
    """Probability of at least `hits` of `total` at rate `p`."""
    from math import exp, lgamma, log

    def term(k: int) -> float:
        ways = lgamma(total + 1) - lgamma(k + 1) - lgamma(total - k + 1)
        return exp(ways + k * log(p) + (total - k) * log(1 - p))

    return sum(term(k) for k in range(hits, total + 1))


def _root(function: object) -> float:
    """The zero of an increasing function between 0 and 1, by halving."""
    low, high = 1e-12, 1 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)  # type: ignore[operator]
    return (low + high) / 2


def row_of(case: Case, verdict: Verdict, gpu: bool) -> Row:
    """One case and what was said of it, as the tables need it."""
    expected = case.expected(gpu)
    timing = verdict.timing
    return {
        "case": case.name, "honest": str(int(case.honest)), "group": case.group, "ids": " ".join(case.ids),
        "expected": "|".join(sorted(expected)), "outcome": verdict.outcome.value,
        "right": str(int(verdict.outcome in expected)), "stage": verdict.stage, "where": verdict.where,
        "seconds": f"{verdict.seconds.get('total', 0.0):.3f}", "speedup": f"{timing.speedup:.3f}" if timing else "",
        "launch_bound": str(int(timing.launch_bound)) if timing else "", "seed": str(verdict.seed),
        "message": verdict.message.splitlines()[0] if verdict.message else "",
    }  # fmt: skip


def judge_zoo(device: str, workers: int, names: str) -> list[Row]:
    """Every case this device can show, as rows."""
    gpu = device != "cpu"
    chosen = [case for case in cases(gpu=gpu) if names in case.name]
    waiting: dict[str, list[Case]] = collections.defaultdict(list)
    for case in chosen:
        waiting[case.candidate.id].append(case)
    rows = []
    with Verifier(device=device, workers=workers) as verifier:
        for verdict in verifier.verify(tasks().values(), [c.candidate for c in chosen]):
            case = waiting[verdict.candidate_id].pop(0)
            rows.append(row_of(case, verdict, gpu))
            if rows[-1]["right"] == "0":
                print(f"  {case.name}: {verdict.outcome.value}, not {rows[-1]['expected']}", flush=True)
    return sorted(rows, key=lambda row: row["case"])


def draw(count: int, seed: int) -> list[tuple[Case, Mutant]]:
    """About `count` mutants of honest Triton cases, as many of each class as there are."""
    source = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_kind: dict[str, list[tuple[Case, Mutant]]] = collections.defaultdict(list)
    for case in cases():
        if case.honest and case.backend == "triton" and case.expect == {Outcome.PASS}:
            for mutant in mutants(case.candidate.source):
                by_kind[mutant.kind].append((case, mutant))
    for rows in by_kind.values():
        source.shuffle(rows)
    chosen: list[tuple[Case, Mutant]] = []
    left = sorted(by_kind, key=lambda kind: len(by_kind[kind]))
    for number, kind in enumerate(left):
        chosen += by_kind[kind][: (count - len(chosen)) // (len(left) - number)]
    return chosen


def judge_mutants(count: int, workers: int, seed: int) -> list[Row]:
    """Which mutants change values, and what the verifier says of all of them."""
    chosen = draw(count, seed)
    by_case: dict[str, list[tuple[Case, Mutant]]] = collections.defaultdict(list)
    for case, mutant in chosen:
        by_case[case.name].append((case, mutant))
    groups = list(by_case.values())
    print(f"  {len(chosen)} mutants of {len(groups)} cases: which change a value?", flush=True)
    known = tasks()
    effects = classify(
        [(known[g[0][0].task].source, g[0][0].candidate.source, [m.source for _, m in g]) for g in groups], workers
    )
    flat = [
        (case, mutant, effect)
        for group, found in zip(groups, effects, strict=True)
        for (case, mutant), effect in zip(group, found, strict=True)
    ]
    wanted = [
        Candidate(c.candidate.task_id, c.candidate.backend, m.source) for c, m, e in flat if e in ("changed", "unsafe")
    ]
    outcomes: dict[str, tuple[str, str]] = {}
    with Verifier(device="cpu", workers=workers) as verifier:
        for number, verdict in enumerate(verifier.verify(known.values(), wanted), 1):
            first = verdict.message.splitlines()[0] if verdict.message else ""
            outcomes[verdict.candidate_id] = (verdict.outcome.value, first)
            if number % 100 == 0:
                print(f"  {number} of {len(wanted)} mutants judged", flush=True)
    rows = []
    for case, mutant, effect in flat:
        own = Candidate(case.candidate.task_id, case.candidate.backend, mutant.source)
        outcome, message = outcomes.get(own.id, ("", ""))
        rows.append({
            "case": case.name, "class": mutant.kind, "line": str(mutant.line), "before": mutant.before,
            "after": mutant.after, "effect": effect, "outcome": outcome, "message": message,
        })  # fmt: skip
    return rows


def write_csv(path: Path, rows: list[Row]) -> None:
    """Rows with the keys of the first as columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def zoo_table(rows: list[Row]) -> Iterable[str]:
    """Markdown lines for one device's cases."""
    bad = [row for row in rows if row["honest"] == "0"]
    # Cases that a device is allowed to pass (a label, not a crime) are no part of the rate.
    counted = [row for row in bad if "pass" not in row["expected"].split("|")]
    fair = [row for row in rows if row["honest"] == "1" and "wrong" not in row["expected"].split("|")]
    good = [row for row in fair if row["outcome"] not in SKIPPED]
    coarse = sum(row["honest"] == "1" for row in rows) - len(fair)
    left_out = sum(row["honest"] == "1" and row["outcome"] in SKIPPED for row in rows)
    yield "| dishonest or broken | cases | passing | 95 % interval |"
    yield "| --- | ---: | ---: | --- |"
    for group, title in GROUPS.items():
        mine = [row for row in counted if row["group"] == group]
        passing = sum(row["outcome"] == "pass" for row in mine)
        yield f"| {group}: {title} | {len(mine)} | {passing} | {interval(passing, len(mine))} |"
    passing = sum(row["outcome"] == "pass" for row in counted)
    yield f"| **all** | {len(counted)} | {passing} | {interval(passing, len(counted))} |"
    yield ""
    yield f"Exactly the expected outcome: {sum(r['right'] == '1' for r in bad)} of {len(bad)}."
    yield ""
    yield "| honest, by what often rejects such | cases | rejected | 95 % interval |"
    yield "| --- | ---: | ---: | --- |"
    kinds = {name for row in good for name in row["ids"].split()}
    for kind in sorted(kinds, key=lambda name: (not name.startswith("R"), int(name[1:]) if name[1:].isdigit() else 0)):
        mine = [row for row in good if kind in row["ids"].split()]
        rejected = sum(row["outcome"] != "pass" for row in mine)
        yield f"| {kind} | {len(mine)} | {rejected} | {interval(rejected, len(mine))} |"
    rejected = sum(row["outcome"] != "pass" for row in good)
    yield f"| **all** (rows overlap) | {len(good)} | {rejected} | {interval(rejected, len(good))} |"
    yield ""
    yield f"Honest cases left out because their task cannot be checked or this device cannot run them: {left_out}."
    if coarse:
        yield f"Honest code that is wrong in this device's declared precision, and must be found so: {coarse}."
    wrong = [row for row in rows if row["right"] == "0"]
    if wrong:
        yield ""
        yield "Cases with another outcome than expected:"
        yield ""
        yield from (
            f"- `{row['case']}`: {row['outcome']} ({row['message']}), expected {row['expected']}" for row in wrong
        )


def mutant_table(rows: list[Row]) -> Iterable[str]:
    """Markdown lines for the mutants."""
    yield "| class | mutants | run and change a value | caught | 95 % interval | what was done |"
    yield "| --- | ---: | ---: | ---: | --- | --- |"
    for kind in [k for k in CLASSES if any(row["class"] == k for row in rows)]:
        yield _mutant_line(kind, [row for row in rows if row["class"] == kind], CLASSES[kind])
    yield _mutant_line("**all**", rows, "")
    unsafe = [row for row in rows if row["effect"] == "unsafe" and row["outcome"] not in SKIPPED]
    refused = sum(row["outcome"] != "pass" for row in unsafe)
    same, broken = (sum(row["effect"] == effect for row in rows) for effect in ("same", "broken"))
    yield ""
    yield (
        f"Besides these, {len(unsafe)} mutants read or write outside their arguments' memory: {refused} are refused. "
        f"Not judged: {broken} that do not run, and {same} that change no value beyond rounding on four input sets."
    )
    missed = [row for row in rows if row["effect"] == "changed" and row["outcome"] == "pass"]
    if missed:
        yield ""
        yield "Missed:"
        yield ""
        yield from (
            f"- `{r['case']}` line {r['line']}: `{r['before']}` -> `{r['after']}` ({r['class']})" for r in missed
        )


def _mutant_line(title: str, rows: list[Row], words: str) -> str:
    changed = [row for row in rows if row["effect"] == "changed" and row["outcome"] not in SKIPPED]
    caught = sum(row["outcome"] != "pass" for row in changed)
    return f"| {title} | {len(rows)} | {len(changed)} | {caught} | {interval(caught, len(changed))} | {words} |"


def figures() -> str:
    """docs/verifier_figures.md from the CSV files."""
    lines = [
        "# What the verifier lets through, and what it wrongly rejects",
        "",
        "Made by `python scripts/zoo_report.py` from `docs/verifier_zoo.*.csv` and `docs/verifier_mutants.*.csv`.",
        "Intervals are Clopper-Pearson. A case is one file under `tests/zoo/cases`.",
    ]
    for path in sorted(DOCS.glob("verifier_zoo.*.csv")):
        rows = read_csv(path)
        lines += ["", f"## Zoo on {rows[0]['where']}", "", *zoo_table(rows)]
    for path in sorted(DOCS.glob("verifier_mutants.*.csv")):
        lines += ["", "## Mutants of honest kernels, judged on the interpreter", "", *mutant_table(read_csv(path))]
    return "\n".join(lines) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Run what was asked for and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu, cuda:0 or auto")
    parser.add_argument("--workers", type=int, default=2, help="candidates judged at once")
    parser.add_argument("--mutants", type=int, default=1000, help="mutants to draw (judged on the CPU)")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    parser.add_argument("--names", default="", help="only cases whose name holds this text; writes no file")
    parser.add_argument("--only", choices=("zoo", "mutants", "table"), help="one part; the table is written at the end")
    options = parser.parse_args(argv)
    DOCS.mkdir(exist_ok=True)
    if options.only in (None, "zoo"):
        device = resolve_device(options.device)
        start = time.perf_counter()
        rows = judge_zoo(device, options.workers, options.names)
        print(f"{len(rows)} cases in {time.perf_counter() - start:.0f} s", flush=True)
        if options.names:
            return 0
        write_csv(DOCS / f"verifier_zoo.{'cpu' if device == 'cpu' else 'cuda'}.csv", rows)
    if options.only == "mutants" or (options.only is None and options.device == "cpu"):
        start = time.perf_counter()
        write_csv(DOCS / "verifier_mutants.cpu.csv", judge_mutants(options.mutants, options.workers, options.seed))
        print(f"mutants in {time.perf_counter() - start:.0f} s", flush=True)
    text = figures()
    (DOCS / "verifier_figures.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
