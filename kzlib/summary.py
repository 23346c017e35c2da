"""The headline numbers of a run, each with count and interval: what `kz summary` prints and the report opens with."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kzlib import frames
from kzlib.intervals import bootstrap
from kzlib.scores import read_attempts, score

if TYPE_CHECKING:
    from kzlib.metrics import Attempt
    from kzlib.workspace import Run

ENDS = 5  # steps averaged at the start and at the end of a curve


def summary(run: Run) -> dict[str, Any]:
    """Plain JSON values; what the run has not made yet is null or an empty list, never a guess."""
    params = frames.read_params(run)
    attempts = evaluated(run)
    return {
        "profile": run.profile,
        "run": run.name,
        "seed": params["run"]["seed"],
        "device": sorted({item.where for item in attempts} - {"nowhere"}),
        "proposer": _ends(run, params),
        "coder": _coder(attempts, params),
        "outcomes": {
            label: {row.outcome: int(row.count) for row in rows.itertuples(index=False)}
            for label, rows in frames.outcome_frame(attempts).groupby("label", sort=False)
        },
        "stages": _stages(run),
    }


def evaluated(run: Run) -> list[Attempt]:
    """All attempts of notebook 05, or none if it has not run."""
    path = run.root / "metrics" / "attempts.csv"
    return read_attempts(path) if path.exists() else []


def _ends(run: Run, params: dict[str, Any]) -> dict[str, Any]:
    frame = frames.training_frame([run])
    result = {}
    for quantity in ("validity", "coder_accuracy", "frontier_reward"):
        curve = frame[(frame["role"] == "proposer") & (frame["quantity"] == quantity)].sort_values("step")
        values = [float(value) for value in curve["value"]]
        result[quantity] = {
            "start": _mean(values[:ENDS], params["run"]["seed"]),
            "end": _mean(values[-ENDS:], params["run"]["seed"]),
            "steps": len(values),
        }
    return result


def _mean(values: Sequence[float], seed: int) -> dict[str, Any] | None:
    """Mean over steps with a bootstrap interval over those steps; None without a step."""
    if not values:
        return None
    low, high = bootstrap(values, seed)
    return {"value": math.fsum(values) / len(values), "low": low, "high": high, "steps": len(values)}


def _coder(attempts: Sequence[Attempt], params: dict[str, Any]) -> list[dict[str, Any]]:
    ks, seed = params["evaluation"]["ks"], params["run"]["seed"]
    rows = score(attempts, ks, [1.0], seed, params["evaluation"]["bootstrap"])
    return [row for row in rows if row["metric"] in ("pass", "fast_1", "clear_1", "launch_1")]


def _stages(run: Run) -> list[dict[str, Any]]:
    """Wall seconds of each finished stage, and of its records how many verdicts it asked for."""
    verdicts: Counter[str] = Counter()
    for path in (run.root / "records").glob("verdicts.*.jsonl"):
        with path.open("rb") as file:
            verdicts[path.name.removeprefix("verdicts.").removesuffix(".jsonl")] += sum(1 for _ in file)
    seconds = frames.pipeline_frame(run).groupby("stage", sort=False)["seconds"].sum()
    return [
        {"stage": str(stage), "seconds": round(float(value), 3), "verdicts": verdicts[str(stage)]}
        for stage, value in seconds.items()
    ]


def as_text(result: dict[str, Any]) -> str:
    """The same numbers for people."""
    device = ", ".join(result["device"]) or "no device yet"
    lines = [f"{result['profile']}/{result['run']}  seed {result['seed']}  on {device}"]
    for quantity, ends in result["proposer"].items():
        if ends["start"]:
            lines.append(f"Proposer {quantity}: {_cell(ends['start'])} -> {_cell(ends['end'])} ({ends['steps']} steps)")
    for row in result["coder"]:
        name = f"{row['metric']}@{row['k']}"
        level = f" level {row['level']}" if row["level"] else ""
        timing = f", {row['timing']} times" if row["metric"] != "pass" else ""
        left = f"; left out: {row['left_out']}" if row["left_out"] else ""
        lines.append(
            f"{row['model']} {row['task_set']}{level} {row['backend']} {row['protocol']}: {name} {_cell(row)} "
            f"over {row['tasks']} tasks{timing}{left}"
        )
    lines += [f"{label}: {json.dumps(counts)}" for label, counts in result["outcomes"].items()]
    lines += [f"{row['stage']}: {row['seconds']:.1f} s, {row['verdicts']} verdicts" for row in result["stages"]]
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "not available"
    interval = f" [{row['low']:.3f}, {row['high']:.3f}]" if row["low"] is not None else ""
    return f"{row['value']:.3f}{interval}"
