"""From the files of one or several runs to the tidy frames that figures draw. Reads only; nothing is interpolated.

A run that lacks a file simply adds no rows, so figures say "not run" instead of guessing. Source: issue 8 item 4.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from kzlib.workspace import Run


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
