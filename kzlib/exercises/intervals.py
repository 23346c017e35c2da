"""Exercises of notebook 06: a bootstrap, what an interval allows to say, and reading a fast_p curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kzlib.exercises.feedback import ask, brief, close, numbers, predictions, require
from kzlib.intervals import interval, paired

EXERCISES = ("bootstrap", "claims", "curve")

SCORES = [0.0, 0.0, 1.0, 0.25, 0.5, 1.0, 0.0, 0.75, 0.0, 0.5]

# Scores of two models on the same tasks, in the same order.
RUNS: dict[str, tuple[list[float], list[float], str]] = {
    "up on 1 of 20 tasks": ([0.0] * 20, [1.0] + [0.0] * 19, "does the interval of the difference hold 0?"),
    "up 0.2 to 0.3 on every task": (
        [i / 25 for i in range(20)],
        [i / 25 + (0.2 if i % 2 else 0.3) for i in range(20)],
        "the two means' intervals overlap, but each task is compared with itself",
    ),
    "up on 6 tasks, down on 6": ([1.0] * 6 + [0.0] * 14, [0.0] * 6 + [1.0] * 6 + [0.0] * 8, "what is the difference?"),
    "up on 12 of 20 tasks, down on 1": ([0.0] * 19 + [1.0], [1.0] * 12 + [0.0] * 8, "is 0 below the whole interval?"),
}


def bootstrap(answer: Callable[..., Any]) -> str:
    """Means of resampled tasks, the stuff an interval is made of.

    >>> from kzlib.exercises import check
    >>> print(check("06.bootstrap", lambda v, draws, rng: [rng.permutation(v).mean() for _ in range(draws)]))
    not yet (06.bootstrap): all means are alike: tasks must be drawn with replacement, so that some come twice
    """
    rng = np.random.default_rng(0)
    found = numbers(
        ask(answer, SCORES, 4000, rng), 4000, "return one number for each draw: the mean of the tasks drawn"
    )
    means = np.asarray(found, dtype=np.float64)
    require(means.std() > 1e-12, "all means are alike: tasks must be drawn with replacement, so that some come twice")
    expected = float(np.std(SCORES) / np.sqrt(len(SCORES)))
    require(
        means.std() > 0.93 * expected,
        f"the means spread too little ({means.std():.3f}): draw as many tasks as there are",
    )
    require(
        means.std() < 1.07 * expected, f"the means spread too much ({means.std():.3f}): draw as many tasks as there are"
    )
    low, high = interval(SCORES)
    ends = np.quantile(means, [0.025, 0.975])
    require(
        bool(np.allclose(ends, [float(low or 0), float(high or 0)], atol=0.03)),
        f"95 % of your means lie in {brief(ends.tolist())}, of the library's in {brief([low, high])}",
    )
    return f"95 % of the means lie in {brief(ends.round(2).tolist())}: that is the interval"


def claims(answer: Any) -> str:
    """For each pair of runs: may one say that the second model is better?

    >>> from kzlib.exercises import check
    >>> print(check("06.claims", dict.fromkeys(RUNS, True)))
    not yet (06.claims): for "up on 1 of 20 tasks", True is not what happens: does the interval of the difference ...
    """
    truth = {}
    for name, (a, b, _) in RUNS.items():
        gap = paired(dict(enumerate(a)), dict(enumerate(b)))  # type: ignore[arg-type]
        truth[name] = gap.low is not None and gap.low > 0
    predictions(answer, truth, {name: reason for name, (_, _, reason) in RUNS.items()})
    return (
        "a claim needs the whole interval of the paired difference on one side of 0, and even then one seed is one seed"
    )


def curve(answer: Callable[..., Any]) -> str:
    """From a fast_p curve: the share of tasks solved, but by nothing faster than PyTorch.

    >>> from kzlib.exercises import check
    >>> print(check("06.curve", lambda curve: 1 - curve[1.0]))
    not yet (06.curve): for {0.0: 0.8, 1.0: 0.3, 2.0: 0.1} it is 0.5, yours is 0.7: tasks without a right answer are ...
    """
    first = {0.0: 0.8, 1.0: 0.3, 2.0: 0.1}
    found = ask(answer, first)
    require(
        not close(found, 0.7),
        f"for {first} it is 0.5, yours is 0.7: tasks without a right answer are not slow, but wrong",
    )
    for points in (first, {0.0: 1.0, 1.0: 1.0, 2.0: 0.5}, {0.0: 0.0, 1.0: 0.0, 2.0: 0.0}):
        found, truth = ask(answer, points), points[0.0] - points[1.0]
        require(close(found, truth), f"for {points} it is {brief(truth)}, yours is {brief(found)}")
    return "the curve's start is pass@k; each step down is the share of tasks whose best answer is no faster than that"
