"""Exercises of notebook 05: pass@k without bias, fast_p, and a mean of speedups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kzlib import metrics
from kzlib.exercises.feedback import ask, brief, close, require

EXERCISES = ("pass_at_k", "fast_p", "mean_speedup")


def pass_at_k(answer: Callable[..., Any]) -> str:
    """The chance that k of n answers, c of them right, hold a right one.

    >>> from kzlib.exercises import check
    >>> print(check("05.pass_at_k", lambda n, c, k: 1 - (1 - c / n) ** k))
    not yet (05.pass_at_k): n=4 c=1 k=2: it is 0.5, yours is 0.4375: this draws with replacement and may ...
    """
    found = ask(answer, 4, 1, 2)
    require(
        not close(found, 1 - 0.75**2),
        f"n=4 c=1 k=2: it is 0.5, yours is {brief(found)}: this draws with replacement and may take one answer twice",
    )
    cases = [
        (4, 1, 2, "of the 6 pairs, 3 hold the right answer"),
        (5, 0, 5, "no answer is right"),
        (5, 5, 1, "all are right"),
        (3, 2, 2, "only one is wrong, so two cannot both be wrong"),
        (200, 1, 1, "k = 1 is the share of right answers"),
        (2, 0, 5, "five answers were never drawn: nothing is known, return None"),
    ]
    for n, c, k, reason in cases:
        found, truth = ask(answer, n, c, k), metrics.pass_at_k(n, c, k)
        require(close(found, truth), f"n={n} c={c} k={k}: it is {truth}, yours is {brief(found)}: {reason}")
    return "averaged over tasks, it expects what drawing k answers anew would give; 1 - (1 - c/n)^k is too low"


def fast_p(answer: Callable[..., Any]) -> str:
    """fast_p@1 of one task: the share of answers that are right and more than p times faster.

    >>> from kzlib.exercises import check
    >>> print(check("05.fast_p", lambda speedups, p: sum(s >= p for s in speedups if s) / len(speedups)))
    not yet (05.fast_p): [1.0, 2.0], p = 1.0: it is 0.5, yours is 1.0: as fast as PyTorch is not faster
    """
    cases: list[tuple[list[float | None], float, str]] = [
        ([2.0, 2.0], 1.0, "both are right and faster"),
        ([1.0, 2.0], 1.0, "as fast as PyTorch is not faster"),
        ([2.0, None, None, None], 1.0, "a wrong answer (None) counts in the denominator"),
        ([0.5, 0.9], 0.0, "at p = 0 only being right counts: the share of right answers"),
        ([None, None], 0.0, "none is right"),
    ]
    for speedups, p, reason in cases:
        found, truth = ask(answer, speedups, p), metrics.fast_p_at_k(speedups, p, 1)
        require(close(found, truth), f"{speedups}, p = {p}: it is {truth}, yours is {brief(found)}: {reason}")
    return "fast_0 is pass@1, and fast_p falls as p grows"


def mean_speedup(answer: Callable[..., Any]) -> str:
    """A mean of speedups in which twice as fast and half as fast cancel out.

    >>> from kzlib.exercises import check
    >>> print(check("05.mean_speedup", lambda speedups: sum(speedups) / len(speedups)))
    not yet (05.mean_speedup): [2.0, 0.5] is 1.0, yours is 1.25: twice as fast and half as fast cancel out
    """
    cases = [
        ([2.0, 0.5], "twice as fast and half as fast cancel out"),
        ([1.0, 1.0, 8.0], "the cube root of 8: average the logarithms"),
        ([0.9] * 9 + [100.0], "one outlier must not carry nine slow kernels far"),
    ]
    for values, reason in cases:
        found, truth = ask(answer, values), metrics.speeds(values).geometric_mean
        require(close(found, truth), f"{brief(values)} is {brief(truth)}, yours is {brief(found)}: {reason}")
    return "the mean of a ratio and of its inverse now agree, whichever is called the baseline"
