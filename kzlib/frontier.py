"""The frontier: the Proposer's reward, what a batch does when no task is at the frontier, and the named alternatives.

Source: the paper's frontier reward 1 - 2|p - 0.5|; R-Zero and Absolute Zero for the alternatives; issue 5.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from kzlib.weakness import Weakness

__all__ = [
    "Selection",
    "Weakness",
    "difficulty_reward",
    "frontier_reward",
    "r_zero_reward",
    "repetition_shares",
    "select_frontier",
]


def frontier_reward(p: float, valid: bool, rho: float = -1.0) -> float:
    """1 - 2|p - 0.5| for a valid module, p the frozen Coder's mean correctness on it; rho < 0 for an invalid one.

    Between 0 and 1 when valid: 0 where every answer failed or every answer passed, still above any invalid module. p is
    not looked at when the module is invalid. A p outside [0, 1], or NaN (no answer was judged), is a `ValueError`.

    >>> [frontier_reward(p, True) for p in (0.0, 0.25, 0.5, 1.0)], frontier_reward(0.5, False)
    ([0.0, 0.5, 1.0, 0.0], -1.0)
    """
    if not rho < 0:
        raise ValueError(f"rho is {rho}, but an invalid module must cost something: give a number below 0")
    if not valid:
        return rho
    return 1.0 - 2.0 * abs(_rate(p) - 0.5)


def difficulty_reward(p: float, valid: bool, rho: float = -1.0) -> float:
    """Absolute Zero's 1 - p: the harder the better, but 0 where nothing passes (the module may be impossible).

    >>> [difficulty_reward(p, True) for p in (0.0, 0.25, 1.0)]
    [0.0, 0.75, 0.0]
    """
    if not valid:
        return rho
    return 1.0 - p if _rate(p) > 0 else 0.0


def r_zero_reward(p: float, valid: bool, share: float) -> float:
    """R-Zero's code: min(p, 1 - p) - share, or -1 - share when invalid; share: its near copies over the batch.

    Half the frontier reward less the repetition penalty, so repetition weighs twice as much as in R-Zero's paper.

    >>> r_zero_reward(0.5, True, share=0.25), r_zero_reward(0.5, False, share=0.25)
    (0.25, -1.25)
    """
    if not 0 <= share <= 1:
        raise ValueError(
            f"share is {share}, but near copies are between none and all of the batch: give a number in [0, 1]"
        )
    return min(_rate(p), 1 - p) - share if valid else -1.0 - share


def repetition_shares(identities: Sequence[Hashable]) -> list[float]:
    """For each module of a batch, the share of the batch with its identity (`kzlib.identity.identity`).

    >>> repetition_shares(["a", "b", "a", "a"])
    [0.75, 0.25, 0.75, 0.75]
    """
    counts = Counter(identities)
    return [counts[i] / len(identities) for i in identities]


def _rate(p: float) -> float:
    if math.isnan(p) or not 0 <= p <= 1:
        raise ValueError(f"p is {p}, but a mean correctness lies in [0, 1]: leave out modules with no judged answer")
    return p


@dataclass(frozen=True, slots=True)
class Selection:
    """Tasks kept for training, nearest to p = 0.5 first, and the sentence to log."""

    ids: tuple[str, ...]
    band: tuple[float, float]
    reason: str


def select_frontier(rates: Mapping[str, float], wanted: int, band: tuple[float, float] = (0.2, 0.8)) -> Selection:
    """Up to `wanted` task ids with the solve rate in the band; where too few are, the band opens once to (0, 1).

    Tasks that every answer solves or fails give a group no signal, so they come last, nearest first, and only to reach
    one task. Never loops, never divides; no task at all gives an empty selection with its reason (P33).

    >>> select_frontier({"a": 0.5, "b": 0.9, "c": 0.0}, wanted=2)
    Selection(ids=('a', 'b'), band=(0.0, 1.0), reason='1 of 3 tasks in [0.2, 0.8]: band opened to (0, 1), 2 kept')
    """
    low, high = band
    ranked = sorted(rates, key=lambda name: (abs(_rate(rates[name]) - 0.5), name))
    inside = [name for name in ranked if low <= rates[name] <= high]
    if len(inside) >= wanted:
        return Selection(tuple(inside[:wanted]), band, f"{len(inside)} of {len(rates)} tasks in [{low}, {high}]")
    some = [name for name in ranked if 0 < rates[name] < 1][:wanted]
    short = f"{len(inside)} of {len(rates)} tasks in [{low}, {high}]"
    if some:
        return Selection(tuple(some), (0.0, 1.0), f"{short}: band opened to (0, 1), {len(some)} kept")
    if not rates:
        return Selection((), band, "no task was given: nothing to train on")
    extreme = "too easy" if rates[ranked[0]] == 1 else "too hard"
    if len({rates[name] for name in ranked}) > 1:
        extreme = "too hard or too easy"
    return Selection(
        tuple(ranked[:1]),
        (0.0, 1.0),
        f"{short}: every task is {extreme}, 1 kept without signal; draw easier or harder sets",
    )
