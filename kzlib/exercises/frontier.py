"""Exercises of notebook 03: the frontier reward, p over judged answers, and what K answers can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kzlib.exercises.feedback import ask, brief, close, numbers, require
from kzlib.frontier import frontier_reward

EXERCISES = ("reward", "mean_correctness", "rewards_of_k")


def reward(answer: Callable[..., Any]) -> str:
    """The frontier reward of one module.

    >>> from kzlib.exercises import check
    >>> print(check("03.reward", lambda p, valid, rho: min(p, 1 - p) if valid else rho))
    not yet (03.reward): for p = 0.5, valid: True, rho = -1.0 it is 1.0, yours is 0.5: the best module is worth 1
    """
    found = ask(answer, 0.5, False, -1.0)
    require(
        close(found, -1.0),
        f"an invalid module earns rho, whatever p is; for p = 0.5, rho = -1.0 yours gives {brief(found)}",
    )
    cases = [
        (0.5, "the best module is worth 1"),
        (0.0, "what no answer solves teaches nothing"),
        (1.0, "what every answer solves teaches nothing"),
        (0.25, "halfway between useless and best"),
        (0.875, "too easy and too hard are alike: only the distance from 0.5 counts"),
    ]
    for p, reason in cases:
        found, truth = ask(answer, p, True, -1.0), frontier_reward(p, True)
        require(
            close(found, truth),
            f"for p = {p}, valid: True, rho = -1.0 it is {truth}, yours is {brief(found)}: {reason}",
        )
    require(
        close(ask(answer, 0.0, False, -0.3), -0.3), "rho is an argument: an invalid module earns -0.3 if rho says so"
    )
    return "a valid module is never worth less than an invalid one, even if nobody solves it"


def mean_correctness(answer: Callable[..., Any]) -> str:
    """p from a list of outcomes: True, False, or None where our machine failed.

    >>> from kzlib.exercises import check
    >>> print(check("03.mean_correctness", lambda outcomes: sum(bool(o) for o in outcomes) / len(outcomes)))
    not yet (03.mean_correctness): [True, None] is 1.0, yours is 0.5: our machine's failure is not the Coder's: None ...
    """
    cases: list[tuple[list[bool | None], str]] = [
        ([True, False, False, False], "one right answer of four"),
        ([True, None], "our machine's failure is not the Coder's: None leaves numerator and denominator"),
        ([False, None, True, None], "two answers were judged"),
        ([None, None], "nothing was judged, so nothing is known: return None"),
        ([], "no answer, no p: return None"),
    ]
    for outcomes, reason in cases:
        judged = [outcome for outcome in outcomes if outcome is not None]
        truth = sum(judged) / len(judged) if judged else None
        found = ask(answer, outcomes)
        require(close(found, truth), f"{outcomes} is {truth}, yours is {brief(found)}: {reason}")
    return "a module without any judged answer has no p and no reward; it leaves its group"


def rewards_of_k(answer: Callable[..., Any]) -> str:
    """Every reward that a valid module can earn when p is the mean of K answers.

    >>> from kzlib.exercises import check
    >>> print(check("03.rewards_of_k", lambda K: [0.0, 1.0]))
    not yet (03.rewards_of_k): K = 1: p is 0 or 1, and both are worth 0; yours is [0.0, 1.0]
    """
    said = {
        1: "p is 0 or 1, and both are worth 0",
        2: "p is 0, 0.5 or 1",
        3: "p is 0, 1/3, 2/3 or 1; 0.5 cannot be reached",
        4: "p is 0, 0.25, 0.5, 0.75 or 1, and rewards come in pairs: give each value once",
    }
    for K, reason in said.items():
        found = numbers(ask(answer, K), None, "return a list of numbers: every reward, each once")
        truth = sorted({frontier_reward(right / K, True) for right in range(K + 1)})
        require(close(sorted(found), _distinct(truth)), f"K = {K}: {reason}; yours is {brief(found)}")
    return "with K = 1 no valid module is better than another; an even K reaches the best reward, an odd one does not"


def _distinct(values: list[float]) -> list[float]:
    return [value for i, value in enumerate(values) if i == 0 or value - values[i - 1] > 1e-9]
