"""A scripted Coder whose skills are known: what the weakness estimate should find, and the frontier follow.

Used by notebook 01 and the tests; no model, no kernel. A module with APIs A passes with probability prod_{i in A} s_i;
each round the APIs that were practised move towards a ceiling, popular ones faster. Source: issue 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from kzlib.apis.sampler import Sampler, sample_sets
from kzlib.apis.statistics import Array, Statistics, statistics
from kzlib.weakness import Weakness

CEILING = 0.97


@dataclass(slots=True)
class ScriptedCoder:
    """Skills by API name, and how far one round of practice moves each towards `CEILING`.

    >>> coder = ScriptedCoder({"torch.exp": 0.5, "torch.sum": 0.8}, {"torch.exp": 0.0, "torch.sum": 0.0})
    >>> coder.rate(("torch.exp", "torch.sum"))
    0.4
    """

    skill: dict[str, float]
    pace: dict[str, float]

    @classmethod
    def typical(cls, seed: int, stats: Statistics | None = None) -> ScriptedCoder:
        """Better at popular APIs, and learning them faster; the rest is chance."""
        stats = statistics() if stats is None else stats
        popular: Array = np.log1p(stats.balanced)
        popular = popular / popular.max()
        noise = np.random.default_rng(seed).normal(0, 0.08, len(popular))
        skill = np.clip(0.53 + 0.39 * popular + noise, 0.1, 0.95)
        pace = 0.03 + 0.32 * popular
        return cls(
            dict(zip(stats.names, skill.tolist(), strict=True)), dict(zip(stats.names, pace.tolist(), strict=True))
        )

    def rate(self, apis: Sequence[str]) -> float:
        """The true solve rate of a module with these APIs."""
        return float(np.prod([self.skill[name] for name in apis]))

    def practise(self, sets: Sequence[Sequence[str]]) -> None:
        """One round of training on these sets."""
        for name in (name for apis in sets for name in apis):
            self.skill[name] = CEILING - (CEILING - self.skill[name]) * float(np.exp(-self.pace[name]))


@dataclass(slots=True)
class Simulation:
    """What happened, round by round: the sets drawn, the share of answers that passed, the estimate after them."""

    sets: list[list[tuple[str, ...]]] = field(default_factory=list)
    solved: list[float] = field(default_factory=list)
    weakness: list[Weakness] = field(default_factory=list)


def simulate(
    sampler: Sampler, seed: int, rounds: int = 20, sets: int = 80, answers: int = 8, coder: ScriptedCoder | None = None
) -> Simulation:
    """Each round: draw sets, answer each `answers` times, learn from them, tell the weakness estimate, let it fade."""
    coder = ScriptedCoder.typical(seed) if coder is None else coder
    rng = np.random.default_rng(seed)
    weakness = Weakness()
    found = Simulation()
    for number in range(rounds):
        drawn = sample_sets(sets, seed * 1000 + number, sampler, weakness=weakness)
        passed = [int(rng.binomial(answers, coder.rate(apis))) for apis in drawn]
        for apis, count in zip(drawn, passed, strict=True):
            weakness.update(apis, count / answers, answers)
        found.sets.append(drawn)
        found.weakness.append(deepcopy(weakness))
        found.solved.append(sum(passed) / (answers * len(drawn)))
        coder.practise(drawn)
        weakness.decay()
    return found
