"""From the files of one or several runs to the tidy frames that figures draw. Reads only; nothing is interpolated.

A run that lacks a file simply adds no rows, so figures say "not run" instead of guessing. Source: issue 8 item 4.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kzlib import metrics
from kzlib.metrics import Attempt
from kzlib.records import Outcome, Verdict, read_jsonl
from kzlib.scores import score

if TYPE_CHECKING:
    from kzlib.workspace import Run

EVALUATION = "05_evaluation"


def step_rows(run: Run, role: str) -> list[dict[str, Any]]:
    """Rows of `metrics/<role>_rl.r*.jsonl`, with `round` and `overall_step` (from 1, counted over all rounds)."""
    files = sorted((run.root / "metrics").glob(f"{role}_rl.r*.jsonl"), key=_round)
    rows: list[dict[str, Any]] = []
    for path in files:
        steps = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        start = len(rows)
        rows += [{**row, "round": _round(path), "overall_step": start + i} for i, row in enumerate(steps, 1)]
    return rows


def _round(path: Path) -> int:
    match = re.search(r"\.r(\d+)\.", path.name)
    if match is None:
        raise ValueError(f"{path.name} names no round: a training log is called <role>_rl.r<round>.jsonl")
    return int(match.group(1))


def training_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Figure 3: every curve of every run, one row a step; `frozen` where the Proposer no longer learns.

    Beside a run that trains the Proposer throughout, a run that freezes it shows only the rounds after the freezing.
    Proposer: `validity` (share of judged modules that pass the gates), `coder_accuracy` (mean p of valid modules),
    `frontier_reward` (mean reward). Coder: `pass@1/<backend>` and `fast_1@1/<backend>`. A quantity that a step did not
    log has no row.
    """
    rows = []
    known = [(run, read_params(run)) for run in runs]
    whole = any(not params["proposer"]["freeze_after_round"] for _, params in known)
    for run, params in known:
        seed, last = params["run"]["seed"], params["proposer"]["freeze_after_round"]
        for role in ("proposer", "coder"):
            for row in step_rows(run, role):
                frozen = 0 < last < row["round"]
                if last and whole and not frozen:
                    continue
                for quantity, backend, value in _curves(role, row, params["run"]["backends"]):
                    rows.append((run.name, seed, frozen, role, quantity, backend, row["overall_step"], value))
    return pd.DataFrame(rows, columns=["run", "seed", "frozen", "role", "quantity", "backend", "step", "value"])


def _curves(role: str, row: dict[str, Any], backends: Sequence[str]) -> Iterator[tuple[str, str | None, float]]:
    if role == "proposer":
        for quantity in ("validity", "coder_accuracy", "frontier_reward"):
            if row.get(quantity) is not None:
                yield quantity, None, float(row[quantity])
        return
    for quantity in ("pass@1", "fast_1@1"):
        for backend in backends:
            if row.get(f"{quantity}/{backend}") is not None:
                yield quantity, backend, float(row[f"{quantity}/{backend}"])


def read_params(run: Run) -> dict[str, Any]:
    """The settings a run was made with (`params.json`)."""
    return json.loads(run.require("params.json", made_by="00_setup_check").read_text(encoding="utf-8"))


def fast_p_frame(
    attempts: Iterable[Attempt], ks: Sequence[int], ps: Sequence[float], seed: int = 0, draws: int = 2000
) -> pd.DataFrame:
    """Figure 5: fast_p@k of every model and backend over a grid of p. One protocol at a time.

    Where every timed task is launch-bound (small tasks on a CPU), the curves are of those tasks, and `timing` says so.
    """
    attempts = list(attempts)
    apart = _all_small(attempts)
    prefix, note = ("launch_", ", launch-bound tasks") if apart else ("fast_", "")
    rows = [
        {name: row[name] for name in ("backend", "model", "k", "p", "value", "low", "high", "tasks")}
        | {"timing": row["timing"] + note}
        for row in score(attempts, ks, ps, seed, draws)
        if row["metric"].startswith(prefix) and row["p"] is not None and row["level"] == 0
    ]
    return pd.DataFrame(rows, columns=["backend", "model", "k", "p", "value", "low", "high", "tasks", "timing"])


def _all_small(attempts: Sequence[Attempt]) -> bool:
    """Whether something was timed and all of it is launch-bound."""
    small = metrics.launch_bound(attempts)
    return bool(small) and all(item.task_id in small for item in attempts)


def outcome_frame(attempts: Iterable[Attempt]) -> pd.DataFrame:
    """How the answers of every model, backend and protocol ended, in the order of `Outcome`."""
    attempts = list(attempts)
    several = len({item.task_set for item in attempts}) > 1

    def label_of(item: Attempt) -> str:
        words = [item.model, *([item.task_set] if several else []), item.backend, item.protocol]
        return " ".join(words)

    counts = Counter((label_of(item), item.outcome) for item in attempts)
    labels = dict.fromkeys(label for label, _ in counts)
    rows = [(label, outcome.value, counts[label, outcome]) for label in labels for outcome in Outcome]
    return pd.DataFrame([row for row in rows if row[2]], columns=["label", "outcome", "count"])


def alpha_frame(variants: Iterable[tuple[str, bool, Sequence[Sequence[Attempt]]]], seed: int = 0) -> pd.DataFrame:
    """Figure 4: (label, is it the main variant, attempts of each seed) -> the fastest correct kernel of n answers.

    A task counts with its geometric mean over seeds; the bar is the geometric mean over tasks, with its interval.
    Launch-bound tasks are left out, unless there are no others: then the bars are of them, and `timing` says so.
    """
    rows = []
    variants = list(variants)
    everything = [item for _, _, seeds in variants for attempts in seeds for item in attempts]
    apart = _all_small(everything)
    small = () if apart else metrics.launch_bound(everything)
    for label, main, seeds in variants:
        by_task: dict[str, list[float]] = defaultdict(list)
        kinds = {metrics.timing_kind(attempts) for attempts in seeds} - {None}
        for attempts in seeds:
            for task, value in metrics.best_speedups(attempts, small).items():
                if value is not None:
                    by_task[task].append(math.log(value))
        values = [math.exp(math.fsum(logs) / len(logs)) for logs in by_task.values()]
        known = metrics.speeds(values, seed=seed)
        timing = " and ".join(sorted(str(kind) for kind in kinds)) or "none"
        timing += ", launch-bound tasks" if apart and kinds else ""
        rows.append((label, len(seeds), known.n, known.geometric_mean, known.low, known.high, timing, main))
    return pd.DataFrame(rows, columns=["label", "seeds", "tasks", "value", "low", "high", "timing", "main"])


def pipeline_frame(run: Run) -> pd.DataFrame:
    """Wall time of every finished stage, from its stamp; RL stages split by what their steps say they did."""
    rows: list[tuple[str, str, float]] = []
    for path in sorted((run.root / "stages").glob("*/stamp.json")):
        stamp = json.loads(path.read_text(encoding="utf-8"))
        total = (datetime.fromisoformat(stamp["ended"]) - datetime.fromisoformat(stamp["started"])).total_seconds()
        parts = _step_seconds(run, stamp["stage"])
        known = min(sum(parts.values()), total)
        rows += [(stamp["stage"], part, seconds) for part, seconds in parts.items()]
        rows.append((stamp["stage"], "rest", total - known))
    return pd.DataFrame(rows, columns=["stage", "part", "seconds"])


def _step_seconds(run: Run, stage: str) -> dict[str, float]:
    """Seconds of a stage's steps by what they did: generate, verify, train. {} where the stage does not say."""
    notebook, _, number = stage.partition(".")
    name = "evaluation_time" if notebook == EVALUATION else f"{notebook[3:]}.{number}" if number else ""
    path = run.root / "metrics" / f"{name}.jsonl"
    totals: dict[str, float] = defaultdict(float)
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            for part in ("generate", "verify", "train"):
                totals[part] += math.fsum(v for k, v in row.items() if k.split("/")[:2] == ["seconds", part])
    return {part: seconds for part, seconds in totals.items() if seconds}


def verdict_frame(run: Run) -> pd.DataFrame:
    """Mean seconds of a verdict by its stages, for every stage of the run that asked for verdicts (issue 4 item 6).

    `waiting` is the time of a verdict that none of its stages accounts for. `at_once` is how many verdicts were under
    way at a time: their seconds together over the wall time of verifying; absent where that was not recorded. Equal
    code is judged once and counts once; an answer without code never reached the verifier.
    """
    groups: dict[tuple[str, str, str], dict[str, dict[str, float]]] = defaultdict(dict)
    for path in sorted((run.root / "records").glob("verdicts.*.jsonl")):
        stage = path.name.removeprefix("verdicts.").removesuffix(".jsonl")
        for verdict in read_jsonl(path, Verdict):
            if "total" in verdict.seconds:
                groups[stage, verdict.backend, verdict.protocol][verdict.candidate_id] = verdict.seconds
    busy: dict[str, float] = defaultdict(float)
    for (stage, _, _), found in groups.items():
        busy[stage] += math.fsum(seconds["total"] for seconds in found.values())
    rows = []
    for (stage, backend, protocol), found in groups.items():
        wall = _step_seconds(run, stage).get("verify")
        at_once = busy[stage] / wall if wall else None
        label = f"{stage.removesuffix('_evaluation')} {backend} {protocol}"
        rows += [(label, part, s, len(found), at_once) for part, s in _verdict_parts(list(found.values())).items()]
    return pd.DataFrame(rows, columns=["label", "part", "seconds", "verdicts", "at_once"])


def _verdict_parts(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Mean seconds of each stage of a verdict; what a child says of itself lies within them."""
    sums: dict[str, float] = defaultdict(float)
    for seconds in found:
        parts = {name: s for name, s in seconds.items() if name != "total" and not name.startswith("child_")}
        for name, s in (parts | {"waiting": max(0.0, seconds["total"] - math.fsum(parts.values()))}).items():
            sums[name] += s
    return {name: seconds / len(found) for name, seconds in sums.items()}


def api_graph_frame(sets: Iterable[Sequence[str]]) -> pd.DataFrame:
    """Sampled API sets as a ring of APIs by operator class, and the pairs drawn together: figure 7, right."""
    from kzlib.apis import catalogue

    groups = {api.name: api.operator_class for api in catalogue()}
    uses: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for names in sets:
        uses.update(names)
        pairs.update(combinations(sorted(set(names)), 2))
    ring = sorted(uses, key=lambda name: (groups.get(name, "other"), -uses[name], name))
    angles = 2 * np.pi * np.arange(len(ring)) / max(1, len(ring))
    nodes = [
        (name, None, uses[name], float(np.cos(angle)), float(np.sin(angle)), groups.get(name, "other"))
        for name, angle in zip(ring, angles, strict=True)
    ]
    edges = [(a, b, weight, None, None, None) for (a, b), weight in sorted(pairs.items())]
    return pd.DataFrame([*nodes, *edges], columns=["node", "other", "weight", "x", "y", "group"])


def heatmap_frame(top: int = 40) -> pd.DataFrame:
    """How often the most used APIs meet in one class, from the shipped statistics: the frame of figure 7, left."""
    from kzlib.apis import statistics

    known = statistics()
    chosen = np.argsort(-known.singles, kind="stable")[:top]
    rows = [(known.names[i], known.names[j], int(known.pairs[i, j])) for i, j in combinations(chosen, 2)]
    return pd.DataFrame(rows, columns=["a", "b", "value"])


def read_api_sets(run: Run) -> list[tuple[str, ...]]:
    """The API sets that notebook 01 sampled."""
    path = run.require("api_sets.jsonl", made_by="01_data_sampling")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [tuple(row["apis"]) for row in rows]
