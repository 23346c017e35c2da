"""The table of scores and the file of attempts: what notebook 05 saves and every table, figure and comparison reads.

`metrics/attempts.csv` holds one row an answer, `tables/evaluation.csv` one row a score. Source: issue 8.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kzlib import metrics
from kzlib.metrics import Attempt
from kzlib.records import Outcome

if TYPE_CHECKING:
    from kzlib.workspace import Run


def score(
    attempts: Iterable[Attempt], ks: Sequence[int], ps: Sequence[float], seed: int = 0, draws: int = 2000
) -> list[dict[str, Any]]:
    """Every score of every (model, task set, level, backend, protocol, place): rows of `tables/evaluation.csv`.

    Level 0 is all levels together. `metric` is "pass", "fast_<p>", "clear_<p>" (faster by more than the spread of the
    answer's own times; measured times only), "avg" (share of answers that pass), "tokens" (mean an answer) or
    "best_speedup" (geometric mean over tasks of the fastest correct of n). Launch-bound tasks are apart: `launch_<p>`
    and `launch_speedup` are the same scores over them alone.
    """
    groups: dict[tuple, list[Attempt]] = defaultdict(list)
    for item in attempts:
        cell = (item.model, item.task_set, item.backend, item.protocol)
        groups[(*cell, 0)].append(item)
        if item.level:
            groups[(*cell, item.level)].append(item)
    rows = []
    small = metrics.launch_bound(item for group in groups.values() for item in group)
    for (model, task_set, backend, protocol, level), group in groups.items():
        place = next((item.where for item in group if item.where != "nowhere"), "nowhere")
        base = {
            "model": model,
            "task_set": task_set,
            "level": level,
            "backend": backend,
            "protocol": protocol,
            "where": place,
            "timing": metrics.timing_kind(group) or "none",
        }
        rows += [{**base, **row} for row in _scores(group, ks, ps, seed, draws, small)]
    return rows


def _scores(
    group: list[Attempt], ks: Sequence[int], ps: Sequence[float], seed: int, draws: int, small: Collection[str]
) -> Iterator[dict[str, Any]]:
    def row(metric: str, k: int | None, p: float | None, estimate: metrics.Estimate) -> dict[str, Any]:
        left_out = ", ".join(f"{n} {reason}" for reason, n in sorted(estimate.left_out.items()))
        return {
            "metric": metric,
            "k": k,
            "p": p,
            "value": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "tasks": estimate.tasks,
            "left_out": left_out,
        }

    tiny = [item for item in group if item.task_id in small]
    for k in ks:
        yield row("pass", k, None, metrics.pass_at(group, k, seed, draws))
        for p in ps:
            yield row(f"fast_{p:g}", k, p, metrics.fast_p_at(group, p, k, seed, draws, small))
            if any(item.spread for item in group):
                clear = metrics.score_tasks(group, k, p, small, clear=True)
                yield row(f"clear_{p:g}", k, p, metrics.average(clear, seed, draws))
            if tiny:
                yield row(f"launch_{p:g}", k, p, metrics.fast_p_at(tiny, p, k, seed, draws, ()))
    yield row("avg", None, None, metrics.pass_at(group, 1, seed, draws))
    for name, part, apart in (("best_speedup", group, small), ("launch_speedup", tiny, ())):
        best = metrics.speeds(list(metrics.best_speedups(part, apart).values()), seed=seed)
        left = {"no_correct_kernel": best.failed} if best.failed else {}
        if part:
            yield row(name, None, None, metrics.Estimate(best.geometric_mean, best.low, best.high, best.n, left))
    cost = metrics.token_cost(group)
    tasks = len(metrics.by_task(group))
    yield row("tokens", None, None, metrics.Estimate(cost.mean, None, None, tasks))


def protocol_gap(attempts: Iterable[Attempt]) -> dict[str, int]:
    """Of the answers that pass under `keck`, how many end in each outcome under `strict`.

    >>> keck = Attempt("a", 0, Outcome.PASS, protocol="keck")
    >>> protocol_gap([keck, Attempt("a", 0, Outcome.CHEAT, protocol="strict")])
    {'cheat': 1}
    """
    items = list(attempts)
    strict = {_answer(item): item.outcome for item in items if item.protocol == "strict"}
    passed = [_answer(item) for item in items if item.protocol == "keck" and item.passed]
    counts = Counter(strict[answer] for answer in passed if answer in strict)
    return {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]}


def _answer(item: Attempt) -> tuple[str, str, str, str, int]:
    return item.model, item.task_set, item.backend, item.task_id, item.sample


def write_attempts(path: str | os.PathLike[str], attempts: Iterable[Attempt]) -> None:
    """All attempts as CSV, by a new file renamed over the old one."""
    path = Path(path)
    names = [field.name for field in dataclasses.fields(Attempt)]
    scratch = path.with_suffix(".tmp")
    with scratch.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for item in attempts:
            row = dataclasses.asdict(item)
            writer.writerow(["" if row[name] is None else row[name] for name in names])
    scratch.replace(path)


def read_attempts(path: str | os.PathLike[str]) -> list[Attempt]:
    """The inverse of `write_attempts`."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return [_attempt(row) for row in csv.DictReader(file)]


def _attempt(row: dict[str, str]) -> Attempt:
    typed: dict[str, Any] = {
        **row,
        "sample": int(row["sample"]),
        "outcome": Outcome(row["outcome"]),
        "speedup": float(row["speedup"]) if row["speedup"] else None,
        "timing_kind": row["timing_kind"] or None,
        "launch_bound": row["launch_bound"] == "True",
        "tokens": int(row["tokens"]),
        "spread": float(row["spread"]),
        "level": int(row["level"]),
    }
    return Attempt(**typed)


def write_table(run: Run, name: str, rows: Sequence[dict[str, Any]], caption: str) -> Path:
    """Write `tables/<name>.csv` and enter it in the manifest as a table of the report."""
    if not rows:
        raise ValueError(f"the table {name} has no rows: evaluate something first")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows([{key: "" if value is None else value for key, value in row.items()} for row in rows])
    path = run.write_text(f"tables/{name}.csv", text.getvalue())
    run.record(f"table.{name}", f"tables/{name}.csv", kind="table", caption=caption, rows=len(rows))
    return path
