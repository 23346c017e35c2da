"""Exercises of notebook 04: reward and gate by hand, advantages, and where alpha can matter."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from kzlib import ca_grpo
from kzlib.exercises.feedback import ask, brief, close, predictions, require

EXERCISES = ("rewards", "advantages", "alpha_matters")

# name: (c, S, why). The question: do the advantages with alpha = 0.5 differ from those with alpha = 0?
GROUPS: dict[str, tuple[list[int], list[float], str]] = {
    "1 of 4 right": (
        [1, 0, 0, 0],
        [3.0, 0, 0, 0],
        "with two values in a group, the size of the larger one divides out",
    ),
    "2 of 8 right, S = 1 and 3": ([1, 1] + [0] * 6, [1.0, 3.0] + [0] * 6, "is the gate open for both values of alpha?"),
    "2 of 8 right, S = 2 and 2": ([1, 1] + [0] * 6, [2.0, 2.0] + [0] * 6, "how many different rewards are there?"),
    "2 of 4 right, S = 1 and 3": ([1, 1, 0, 0], [1.0, 3.0, 0, 0], "is mean(c) below 0.5?"),
    "4 of 4 right, S = 1 to 4": ([1] * 4, [1.0, 2.0, 3.0, 4.0], "is the gate open for both values of alpha?"),
    "0 of 4 right": ([0] * 4, [9.0] * 4, "what does a wrong answer earn?"),
    "3 of 8 right, S = 1, 2, 3": ([1] * 3 + [0] * 5, [1.0, 2.0, 3.0] + [0] * 5, "is mean(c) below 0.5, and S spread?"),
}


def rewards(answer: Callable[..., Any]) -> str:
    """The rewards of one group.

    >>> from kzlib.exercises import check
    >>> print(check("04.rewards", lambda c, S, alpha, beta: [a * (1 + beta * b) for a, b in zip(c, S)]))
    not yet (04.rewards): the gate is shut (mean(c) < alpha), so speed pays nothing: for c = [1, 0, 0, 0], S = ...
    """
    cases = [
        ([1, 0, 0, 0], [2.0, 9.0, 1.0, 1.0], 0.5, "the gate is shut (mean(c) < alpha), so speed pays nothing"),
        ([1, 1, 0, 0], [0.5, 3.0, 0.0, 9.0], 0.5, "mean(c) = alpha opens the gate; a wrong answer earns 0"),
        ([1, 1, 1, 1], [1.0, 2.0, 3.0, 4.0], 1.1, "no mean reaches 1.1: all right answers are worth the same"),
        ([1, 0, 0, 0], [4.0, 4.0, 0.0, 0.0], 0.0, "alpha = 0 opens every gate"),
    ]
    for beta, (c, S, alpha, reason) in itertools.product((0.1, 1.0), cases):
        found, truth = ask(answer, c, S, alpha, beta), _rewards(c, S, alpha, beta)
        where = f"c = {c}, S = {S}, alpha = {alpha}, beta = {beta}"
        require(close(found, truth), f"{reason}: for {where} it is {brief(truth)}, yours is {brief(found)}")
    return "the gate belongs to the group, the speed to the answer"


def advantages(answer: Callable[..., Any]) -> str:
    """The advantages of one group's rewards.

    >>> from kzlib.exercises import check
    >>> import statistics
    >>> print(check("04.advantages", lambda r: [(x - statistics.mean(r)) / statistics.stdev(r) for x in r]))
    not yet (04.advantages): divide by the root of the mean square, over all G answers; dividing by G - 1 gives ...
    """
    r = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    found, truth = ask(answer, r), _advantages(r)
    sample = (torch.tensor(r) - 0.25) / torch.tensor(r).std()
    require(
        not close(found, sample.tolist()),
        "divide by the root of the mean square, over all G answers; dividing by G - 1 gives a little less",
    )
    require(not close(found, [x - 0.25 for x in r]), "the mean is off; now divide by the standard deviation")
    require(close(found, truth), f"for r = {r} it is {brief(truth)}, yours is {brief(found)}")
    flat = ask(answer, [1.0, 1.0, 1.0])
    require(close(flat, [0.0] * 3), f"a group without spread teaches nothing: all zero, yours is {brief(flat)}")
    r = [1.05, 1.3, 0.0, 0.0]
    require(close(ask(answer, r), _advantages(r)), f"it does not hold for r = {r}: {brief(_advantages(r))}")
    return "they add up to zero: an answer is only better than its own group"


def alpha_matters(answer: Any) -> str:
    """For each group: does alpha = 0.5 give other advantages than alpha = 0?

    >>> from kzlib.exercises import check
    >>> print(check("04.alpha_matters", dict.fromkeys(GROUPS, False)))
    not yet (04.alpha_matters): for "2 of 8 right, S = 1 and 3", False is not what happens: is the gate open for ...
    """
    truth = {
        name: not close(_advantages(_rewards(c, S, 0.5, 0.1)), _advantages(_rewards(c, S, 0.0, 0.1)))
        for name, (c, S, _) in GROUPS.items()
    }
    predictions(answer, truth, {name: reason for name, (_, _, reason) in GROUPS.items()})
    return "alpha can only matter where at least two answers are right, fewer than a share alpha, and S differs"


def _rewards(c: list[int], S: list[float], alpha: float, beta: float) -> list[float]:
    return ca_grpo.reward(ca_grpo.as_groups(c, len(c)), ca_grpo.as_groups(S, len(c)), alpha, beta)[0].tolist()


def _advantages(r: list[float]) -> list[float]:
    return ca_grpo.advantages(ca_grpo.as_groups(r, len(r)))[0].tolist()
