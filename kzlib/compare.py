"""Two or more runs side by side, task by task; and the reasons why some runs must not be put side by side.

Runs compare only if task set, protocol, precision mode and device match; otherwise the answer is the table of what
differs, and no score. Source: issue 8 items 5 and 7.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib import metrics, summary
from kzlib.intervals import paired
from kzlib.metrics import Attempt
from kzlib.records import content_id
from kzlib.workspace import ROOT, Run, latest_run


class IncomparableError(ValueError):
    """Runs that were judged under different conditions; `table` has a row for each condition that differs."""

    def __init__(self, table: list[dict[str, str]]) -> None:
        self.table = table
        words = "; ".join(
            f"{row['what']}: " + " against ".join(v for k, v in row.items() if k != "what") for row in table
        )
        super().__init__(f"these runs cannot be compared, because they differ in {words}")


@dataclass(frozen=True, slots=True)
class Conditions:
    """What must be equal for two scores to be comparable. Values are texts that a reader can tell apart."""

    task_set: str
    protocol: str
    precision: str
    device: str
    timing: str


def find(spec: str, output_root: str = "outputs") -> Run:
    """The run that `profile`, `profile/run` or a folder names; it must exist."""
    folder = Path(spec)
    if not (folder / "manifest.json").exists() and not (folder / "params.json").exists():
        base = output_folder(output_root)
        profile, _, name = spec.partition("/")
        folder = base / profile / (name or latest_run(base / profile) or "none yet")
    if not folder.is_dir():
        raise ValueError(f"there is no run {spec}: give profile/run as `kz status` prints it, or a run's folder")
    return Run(folder, folder.parent.name, folder.name)


def output_folder(output_root: str = "outputs") -> Path:
    """Where runs are kept: relative to the project's folder, unless KZ_OUTPUT_ROOT says otherwise."""
    return Path(os.environ.get("KZ_OUTPUT_ROOT") or ROOT / output_root)


def conditions(attempts: Sequence[Attempt]) -> Conditions:
    """Under what a run was evaluated. Answers that never reached a device name none."""
    tasks = sorted({item.task_id for item in attempts})
    names = ", ".join(sorted({item.task_set for item in attempts}))

    def said(values: set[str], without: str) -> str:
        return ", ".join(sorted(values - {without})) or "not stated"

    return Conditions(
        task_set=f"{names} ({len(tasks)} tasks, {content_id(*tasks)[:6]})",
        protocol=said({item.protocol for item in attempts}, ""),
        precision=said({item.precision for item in attempts}, ""),
        device=said({item.where for item in attempts}, "nowhere"),
        timing=said({item.timing_kind or "" for item in attempts}, ""),
    )


def differences(found: Mapping[str, Conditions]) -> list[dict[str, str]]:
    """A row for each condition that is not the same everywhere: {"what": ..., run: value, ...}.

    A condition that a run could not state (it has no answer that ran) does not differ from anything.
    """
    rows = []
    for what in ("task_set", "protocol", "precision", "device", "timing"):
        values = {name: str(getattr(c, what)) for name, c in found.items()}
        if len(set(values.values()) - {"not stated"}) > 1:
            rows.append({"what": what.replace("_", " "), **values})
    return rows


def compare(runs: Sequence[Run], draws: int = 2000) -> list[dict[str, Any]]:
    """Scores of each run and the paired difference to the first run; IncomparableError where they do not compare.

    One row for each (stage of training, backend, protocol, metric, run): value and interval over tasks, and
    `difference` with its interval over the tasks both runs have.
    Launch-bound tasks are those of all runs together, so that every run is scored on the same tasks.
    """
    names = [f"{run.profile}/{run.name}" for run in runs]
    if len(set(names)) < 2:
        raise ValueError("give two runs or more: there is nothing to compare one run with")
    evaluated = {name: summary.evaluated(run) for name, run in zip(names, runs, strict=True)}
    empty = [name for name, attempts in evaluated.items() if not attempts]
    if empty:
        raise ValueError(f"{empty[0]} has no evaluation: run notebook 05_evaluation of it first")
    different = differences({name: conditions(attempts) for name, attempts in evaluated.items()})
    if different:
        raise IncomparableError(different)
    ks = _common_ks(list(evaluated.values()))
    small = metrics.launch_bound(item for attempts in evaluated.values() for item in attempts)
    fast = [("fast_1", 1, 1.0), *([("launch_1", 1, 1.0)] if small else [])]
    return [
        row
        for training in (summary.COLD_START, summary.TRAINED)
        for backend, protocol in _cells(evaluated)
        for metric, k, p in [*[("pass", k, None) for k in ks], *fast]
        for row in _rows(evaluated, training, backend, protocol, metric, k, p, small, draws)
    ]


def _rows(
    evaluated: Mapping[str, Sequence[Attempt]], training: str, backend: str, protocol: str, metric: str, k: int,
    p: float | None, small: frozenset[str], draws: int,
) -> list[dict[str, Any]]:  # fmt: skip
    rows: list[dict[str, Any]] = []
    first: metrics.TaskScores | None = None
    own_of = {}
    for name, attempts in evaluated.items():
        model = summary.model_of(attempts, training)
        own_of[name] = model, [a for a in attempts if (a.model, a.backend, a.protocol) == (model, backend, protocol)]
    if not any(own for _, own in own_of.values()):
        return []  # the cold start, say, is judged under one protocol only
    for name, (model, own) in own_of.items():
        apart = metric.startswith("launch")  # launch-bound tasks are scored alone
        part = [a for a in own if a.task_id in small] if apart else own
        scores = metrics.score_tasks(part, k, p, () if apart else small)
        estimate = metrics.average(scores, draws=draws)
        gap = paired(first.values, scores.values) if first else None
        rows.append(
            {
                "training": training,
                "backend": backend,
                "protocol": protocol,
                "metric": f"{metric}@{k}",
                "run": name,
                "model": model,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "tasks": estimate.tasks,
                "difference": gap.difference if gap else None,
                "difference_low": gap.low if gap else None,
                "difference_high": gap.high if gap else None,
                "paired": gap.tasks if gap else None,
                "left_out": _left_out(estimate) if own else "not run",
            }
        )
        first = first or scores
    return rows


def _left_out(estimate: metrics.Estimate) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in sorted(estimate.left_out.items()))


def _cells(evaluated: Mapping[str, Sequence[Attempt]]) -> list[tuple[str, str]]:
    return sorted({(item.backend, item.protocol) for attempts in evaluated.values() for item in attempts})


def _common_ks(evaluated: Sequence[Sequence[Attempt]]) -> list[int]:
    """1 and the largest k that every run has answers for."""
    most = min(max(item.sample for item in attempts) + 1 for attempts in evaluated)
    return [1] if most == 1 else [1, most]
