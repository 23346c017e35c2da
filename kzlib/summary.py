"""The headline numbers of a run, each with count and interval: what `kz summary` prints and the report opens with."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kzlib import frames, metrics
from kzlib.intervals import bootstrap, paired
from kzlib.progress import duration
from kzlib.records import Answer, read_jsonl
from kzlib.scores import read_attempts, score

if TYPE_CHECKING:
    from kzlib.metrics import Attempt
    from kzlib.workspace import Run

COLD_START, TRAINED = "cold start", "after RL"
CELL = ("model", "task_set", "level", "backend", "protocol", "where")
ENDS = 5  # steps averaged at the start and at the end of a curve


def summary(run: Run) -> dict[str, Any]:
    """Plain JSON values; what the run has not made yet is null or an empty list, never a guess."""
    params = frames.read_params(run)
    attempts = evaluated(run)
    counts = record_counts(run)
    stages = _stages(run, counts)
    return {
        "profile": run.profile,
        "run": run.name,
        "seed": params["run"]["seed"],
        "device": sorted({item.where for item in attempts} - {"nowhere"}),
        "training": _training(run, params["run"]["seed"]),
        "proposer_gain": proposer_gain(run, params["run"]["seed"]),
        "coder": _coder(attempts, params),
        "gain": gain(attempts, params["run"]["seed"]),
        "outcomes": {
            label: {row.outcome: int(row.count) for row in rows.itertuples(index=False)}
            for label, rows in frames.outcome_frame(attempts).groupby("label", sort=False)
        },
        "stages": stages,
        "costs": _costs(counts, stages),
    }


def evaluated(run: Run) -> list[Attempt]:
    """All attempts of notebook 05, or none if it has not run."""
    path = run.root / "metrics" / "attempts.csv"
    return read_attempts(path) if path.exists() else []


def _training(run: Run, seed: int) -> list[dict[str, Any]]:
    """Of each curve of figure 3 its mean over the first and over the last steps, of all rounds together."""
    result = []
    curves = frames.training_frame([run]).groupby(["role", "quantity", "backend"], sort=False, dropna=False)
    for (role, quantity, backend), rows in curves:
        values = [float(value) for value in rows.sort_values("step")["value"]]
        what = f"{quantity}, {backend}" if role == "coder" else quantity.replace("_", " ")
        ends = {"start": _mean(values[:ENDS], seed), "end": _mean(values[-ENDS:], seed)}
        result.append({"curve": f"{role.capitalize()}, {what}", **ends, "steps": len(values)})
    return result


def proposer_gain(run: Run, seed: int) -> list[dict[str, Any]]:
    """Validity and frontier reward of the last Proposer minus the cold start's, over the API sets both were asked."""
    path = run.root / "metrics" / "proposer_check.json"
    if not path.exists():
        return []
    check = json.loads(path.read_text(encoding="utf-8"))
    before, after = (check["scores"][model] for model in check["models"])
    found = {quantity: paired(before[quantity], after[quantity], seed) for quantity in before}
    return [
        {"quantity": quantity, "models": check["models"], **asdict(gap)}
        for quantity, gap in found.items()
        if gap.difference is not None
    ]


def _mean(values: Sequence[float], seed: int) -> dict[str, Any]:
    """Mean over steps with a bootstrap interval over those steps."""
    low, high = bootstrap(values, seed)
    return {"value": math.fsum(values) / len(values), "low": low, "high": high, "steps": len(values)}


def _coder(attempts: Sequence[Attempt], params: dict[str, Any]) -> list[dict[str, Any]]:
    ks, seed = params["evaluation"]["ks"], params["run"]["seed"]
    rows = score(attempts, ks, [1.0], seed, params["evaluation"]["bootstrap"])
    return [row for row in rows if row["metric"] in ("pass", "fast_1", "clear_1", "launch_1")]


def gain(attempts: Sequence[Attempt], seed: int) -> list[dict[str, Any]]:
    """pass@1 of the last Coder minus the cold start's, task by task, for each backend and protocol that judged both."""
    rows = []
    models = [model_of(attempts, training) for training in (COLD_START, TRAINED)] if attempts else []
    for backend, protocol in sorted({(item.backend, item.protocol) for item in attempts}):
        own = [item for item in attempts if (item.backend, item.protocol) == (backend, protocol)]
        before, after = (metrics.score_tasks([a for a in own if a.model == model], 1).values for model in models)
        found = paired(before, after, seed)
        if models[0] != models[1] and found.difference is not None:
            rows.append({"models": models, "backend": backend, "protocol": protocol, **asdict(found)})
    return rows


def model_of(attempts: Sequence[Attempt], training: str) -> str:
    """The cold start's model, or the last Coder's (the highest round)."""
    models = sorted({item.model for item in attempts}, key=_round)
    return models[0] if training == COLD_START else models[-1]


def _round(model: str) -> tuple[int, str]:
    """
    >>> sorted(["coder.r10", "coder.r2", "sft_coder"], key=_round)
    ['sft_coder', 'coder.r2', 'coder.r10']
    """
    number = model.rpartition(".r")[2]
    return (int(number) if number.isdigit() else 0, model)


def record_counts(run: Run) -> dict[str, dict[str, int]]:
    """Of each stage that kept records: how many answers, tokens in them, and verdicts.

    A published run holds the counts of records that were too large to go with it.
    """
    kept = run.root / "records" / "counts.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted((run.root / "records").glob("answers.*.jsonl")):
        for answer in read_jsonl(path, Answer):
            counts[_stage_of(path)].update(answers=1, tokens=answer.tokens)
    for path in sorted((run.root / "records").glob("verdicts.*.jsonl")):
        with path.open("rb") as file:
            counts[_stage_of(path)]["verdicts"] += sum(1 for _ in file)
    return {stage: dict(known) for stage, known in counts.items()}


def _stage_of(path: Path) -> str:
    return path.name.partition(".")[2].removesuffix(".jsonl")


def _stages(run: Run, counts: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """Wall seconds of each finished stage, and of its records how many verdicts it asked for."""
    seconds = frames.pipeline_frame(run).groupby("stage", sort=False)["seconds"].sum()
    return [
        {
            "stage": str(stage),
            "seconds": round(float(value), 3),
            "verdicts": counts.get(str(stage), {}).get("verdicts", 0),
        }
        for stage, value in seconds.items()
    ]


def _costs(counts: dict[str, dict[str, int]], stages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the run took: wall seconds of its finished stages, answers and tokens that models wrote, verdicts."""
    sums = {name: sum(known.get(name, 0) for known in counts.values()) for name in ("answers", "tokens", "verdicts")}
    return {"seconds": round(math.fsum(row["seconds"] for row in stages), 3), **sums}


def headline(rows: Sequence[dict[str, Any]], levels: bool = False) -> tuple[list[str], list[dict[str, Any]]]:
    """Rows of `score` as one line a cell (model, task set, level, backend, protocol), with the first and last k.

    Returns the names of the score columns and the lines; a line's `cells` hold the row of each column, absent where it
    was not run. A speed column that no line has a value for (all tasks launch-bound, say) is left away.

    >>> row = {"model": "m", "task_set": "t", "level": 0, "backend": "triton", "protocol": "strict", "where": "x"}
    >>> row |= {"timing": "none", "metric": "pass", "value": 0.5, "low": None, "high": None, "tasks": 4, "left_out": ""}
    >>> columns, [line] = headline([{**row, "k": 1}, {**row, "k": 2}, {**row, "k": 4}])
    >>> columns, line["cells"]["pass@4"]["value"], line["tasks"]
    (['pass@1', 'pass@4'], 0.5, 4)
    """
    ks = sorted({row["k"] for row in rows if row["metric"] == "pass"})
    wanted = [(metric, k) for metric in ("pass", "fast_1", "launch_1") for k in dict.fromkeys([*ks[:1], *ks[-1:]])]
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if (row["metric"], row["k"]) not in wanted or (row["level"] and not levels):
            continue
        line = {name: row[name] for name in CELL}
        line = lines.setdefault(tuple(line.values()), {**line, "cells": {}})
        line["cells"][f"{row['metric']}@{row['k']}"] = row
        if row["metric"] == "pass" and row["k"] == ks[0]:
            line |= {"tasks": row["tasks"], "left_out": row["left_out"], "timing": row["timing"]}
    columns = [f"{metric}@{k}" for metric, k in wanted]
    filled = [c for c in columns if any(line["cells"].get(c, {}).get("value") is not None for line in lines.values())]
    return [c for c in columns if c in filled or c.startswith("pass")], list(lines.values())


def cell(row: dict[str, Any] | None) -> str:
    """A score with its interval as text.

    >>> cell({"value": 0.5, "low": 0.25, "high": 0.75}), cell(None)
    ('0.500 [0.250, 0.750]', 'not run')
    """
    if row is None:
        return "not run"
    if row["value"] is None:
        return "not available"
    interval = f" [{row['low']:.3f}, {row['high']:.3f}]" if row["low"] is not None else ""
    return f"{row['value']:.3f}{interval}"


def difference(row: dict[str, Any]) -> str:
    """A paired difference with its interval as text.

    >>> difference({"difference": -0.0125, "low": -0.05, "high": 0.0})
    '-0.013 [-0.050, +0.000]'
    """
    interval = f" [{row['low']:+.3f}, {row['high']:+.3f}]" if row["low"] is not None else ""
    return f"{row['difference']:+.3f}{interval}"


def as_text(result: dict[str, Any]) -> str:
    """The headline numbers for people; `--json` has every level and k."""
    device = ", ".join(result["device"]) or "no device yet"
    lines = [f"{result['profile']}/{result['run']}  seed {result['seed']}  on {device}"]
    lines += [
        f"{row['curve']}: {cell(row['start'])} -> {cell(row['end'])} ({row['steps']} steps)"
        for row in result["training"]
    ]
    lines += [
        f"{row['quantity']} of {row['models'][1]} minus {row['models'][0]}, {row['tasks']} API sets: {difference(row)}"
        for row in result["proposer_gain"]
    ]
    columns, known = headline(result["coder"], levels=True)
    for line in known:
        level = f" level {line['level']}" if line["level"] else ""
        scores = "  ".join(f"{name} {cell(line['cells'].get(name))}" for name in columns)
        timing = "" if line["timing"] == "none" else f", {line['timing']} times"
        left = f"; left out: {line['left_out']}" if line["left_out"] else ""
        lines.append(
            f"{line['model']} {line['task_set']}{level} {line['backend']} {line['protocol']}, {line['tasks']} tasks"
            f"{timing}{left}: {scores}"
        )
    lines += [
        f"pass@1 of {row['models'][1]} minus {row['models'][0]}, {row['backend']} {row['protocol']}: "
        f"{difference(row)}, better on {row['better']} of {row['tasks']} tasks, worse on {row['worse']}"
        for row in result["gain"]
    ]
    lines += [f"{label}: {json.dumps(counts)}" for label, counts in result["outcomes"].items()]
    lines += [f"{row['stage']}: {row['seconds']:.1f} s, {row['verdicts']} verdicts" for row in result["stages"]]
    spent = result["costs"]
    lines.append(
        f"in all: {duration(spent['seconds'])}, {spent['answers']} answers of {spent['tokens']} tokens, "
        f"{spent['verdicts']} verdicts"
    )
    return "\n".join(lines)
