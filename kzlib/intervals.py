"""Intervals of means over tasks, and paired differences of two runs. Seeded: the same data give the same interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


def interval(
    values: Sequence[float], seed: int = 0, draws: int = 2000, level: float = 0.95
) -> tuple[float | None, float | None]:
    """Bootstrap percentile interval of the mean of shares over tasks; (None, None) under two tasks.

    Where all tasks score alike, resampling sees no spread; then at most a share 1 - tail^(1/n) of all tasks may differ
    unseen, which for scores of 0 or 1 is the exact binomial bound.

    >>> low, high = interval([0.0] * 60)
    >>> low, round(high, 3)
    (0.0, 0.06)
    """
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    if n < 2:
        return None, None
    tail = (1 - level) / 2
    if np.all(data == data[0]):
        unseen = 1 - tail ** (1 / n)
        known = float(data[0]) * (1 - unseen)
        return known, known + unseen
    rng = np.random.default_rng(seed)
    means = data[rng.integers(0, n, size=(draws, n))].mean(axis=1)
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Paired:
    """b minus a over the tasks both have, with a bootstrap interval over those tasks."""

    difference: float | None
    low: float | None
    high: float | None
    tasks: int
    better: int  # tasks where b scores higher
    worse: int
    only_a: int
    only_b: int


def paired(a: Mapping[str, float], b: Mapping[str, float], seed: int = 0) -> Paired:
    """Compare two runs task by task (scores as `score_tasks(...).values`).

    >>> paired({"x": 0.0, "y": 1.0}, {"x": 1.0, "y": 1.0, "z": 0.0}).difference
    0.5
    """
    common = sorted(set(a) & set(b))
    gaps = [b[task] - a[task] for task in common]
    low, high = bootstrap(gaps, seed)
    if (
        len(gaps) > 1 and len(set(gaps)) == 1
    ):  # no spread seen: at most a share `unseen` of all tasks differs, by at most 1
        unseen = 1 - 0.025 ** (1 / len(gaps))
        low, high = max(-1.0, gaps[0] * (1 - unseen) - unseen), min(1.0, gaps[0] * (1 - unseen) + unseen)
    return Paired(
        difference=math.fsum(gaps) / len(gaps) if gaps else None,
        low=low,
        high=high,
        tasks=len(common),
        better=sum(gap > 0 for gap in gaps),
        worse=sum(gap < 0 for gap in gaps),
        only_a=len(set(a) - set(b)),
        only_b=len(set(b) - set(a)),
    )


def bootstrap(values: Sequence[float], seed: int = 0, draws: int = 2000) -> tuple[float | None, float | None]:
    """95 % percentile interval of the mean of any values; (None, None) where they show no spread to resample.

    >>> bootstrap([1.0, 1.0, 1.0])
    (None, None)
    """
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 2 or np.all(data == data[0]):
        return None, None
    means = data[np.random.default_rng(seed).integers(0, len(data), size=(draws, len(data)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
