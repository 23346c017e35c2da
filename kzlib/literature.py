"""Numbers other people published, with source and certainty; and the paper's table 1 with ours beside it.

The numbers live in `literature.yaml`. A cell that no readable source states is absent, never guessed. Source: issue 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    import pandas as pd

CERTAINTY = {
    "abstract": "in the paper's abstract",
    "table": "a row of the paper's table 1, full text not at hand",
    "note": "a third party's reading note",
}
UNKNOWN = "not known to us"
NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Published:
    """One published number. `level` and `k` are None where the source does not state them."""

    source: str
    system: str
    backend: str
    level: int | None
    metric: str  # "pass", "avg", "fast_1", "tokens", "mean_speedup", ...
    k: int | None
    value: float
    unit: str  # "%", "x" or "tokens"
    certainty: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    title: str
    reference: str
    protocol: str


@cache
def published() -> tuple[Published, ...]:
    """Every number of the file.

    >>> [row.value for row in find(system="Claude-4.5-Sonnet", backend="cuda", level=1, metric="pass")]
    [76.4, 95.35, 97.0]
    """
    document = _document()
    rows = [Published(**dict(zip(document["columns"], row, strict=True))) for row in document["rows"]]
    for row in rows:
        if row.source not in document["sources"] or row.certainty not in CERTAINTY:
            raise ValueError(f"literature.yaml: {row.system} names an unknown source or certainty mark")
    return tuple(Published(**{**_fields(row), "value": float(row.value)}) for row in rows)


@cache
def sources() -> dict[str, Source]:
    """Where the numbers come from, and under which protocol they were measured."""
    return {name: Source(**facts) for name, facts in _document()["sources"].items()}


def find(**wanted: object) -> list[Published]:
    """The numbers whose fields equal the given ones.

    >>> [(row.value, row.certainty) for row in find(system="KernelZero-7B", backend="cuda", level=2, metric="fast_1")]
    [(2.4, 'note')]
    """
    return [row for row in published() if all(getattr(row, name) == value for name, value in wanted.items())]


def table1(ours: Iterable[dict], backend: str = "cuda", levels: tuple[int, ...] = (1, 2)) -> pd.DataFrame:
    """The paper's table 1 (pass@1, pass@5, pass@10 in %, mean tokens, a level), with our rows below it.

    `ours`: rows of `scores.score` (model, task_set, level, backend, protocol, where, metric, k, value, low, high,
    tasks). A cell of ours that was not run says "not run", a published one that we cannot read "not known to us".
    """
    import pandas as pd

    cells = [("pass", 1), ("pass", 5), ("pass", 10), ("tokens", None)]
    ours = list(ours)
    mine = [row for row in ours if row["backend"] == backend]
    table = []
    systems = dict.fromkeys((r.system, r.source) for r in find(source="kernelzero", backend=backend))
    for system, source in systems:
        row = {"model": system, "whose": sources()[source].reference, "tasks": "KernelBench"}
        for level in levels:
            for metric, k in cells:
                known = find(system=system, backend=backend, level=level, metric=metric, k=k)
                row[_column(level, metric, k)] = _published_cell(known[0]) if known else UNKNOWN
        table.append(row)
    for key in dict.fromkeys((r["model"], r["task_set"], r["protocol"], r["where"]) for r in mine):
        own = [r for r in mine if (r["model"], r["task_set"], r["protocol"], r["where"]) == key]
        row = {"model": key[0], "whose": f"this run, {key[2]}, {key[3]}", "tasks": key[1]}
        for level in levels:
            for metric, k in cells:
                hits = [r for r in own if (r["level"], r["metric"], r["k"]) == (level, metric, k)]
                row[_column(level, metric, k)] = _own_cell(hits[0]) if hits else NOT_RUN
        table.append(row)
    run_here = {row["model"] for row in mine}
    for model in dict.fromkeys(row["model"] for row in ours if row["model"] not in run_here):
        blank = {_column(level, metric, k): NOT_RUN for level in levels for metric, k in cells}
        table.append({"model": model, "whose": f"this run, {NOT_RUN} in {backend}", "tasks": "", **blank})
    return pd.DataFrame(table)


def _column(level: int, metric: str, k: int | None) -> str:
    return f"L{level} {metric}@{k}" if k else f"L{level} {metric}"


def _published_cell(row: Published) -> str:
    number = f"{row.value:g}" if row.unit == "%" else f"{row.value / 1000:g}k"
    return f"{number} ({row.certainty})"


def _own_cell(row: dict) -> str:
    if row["value"] is None:
        return "not available"
    if row["metric"] == "tokens":
        return f"{row['value']:.0f}"
    interval = f" [{100 * row['low']:.1f}, {100 * row['high']:.1f}]" if row["low"] is not None else ""
    return f"{100 * row['value']:.1f}{interval} n={row['tasks']}"


def _fields(row: Published) -> dict:
    return {name: getattr(row, name) for name in Published.__slots__}


def _document() -> dict:
    return yaml.safe_load(files("kzlib").joinpath("literature.yaml").read_text(encoding="utf-8"))
