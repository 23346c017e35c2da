"""Frontier map: the APIs on a ring, coloured by the Coder's estimated skill, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from kzlib import figures, frames
from kzlib.drawings.skills import skills, skills_alt
from kzlib.weakness import Weakness
from kzlib.widgets.view import View, image, paragraph, slider, table

SHOWN = 6


@dataclass(frozen=True, slots=True)
class Round:
    """What the Coder was asked in one round, and the estimate after it."""

    sets: Sequence[tuple[str, ...]]
    weakness: Weakness


@dataclass(frozen=True, slots=True)
class Place:
    """Which round is shown, from 1."""

    number: int


class FrontierMap(View[Place]):
    """Begins with the last round. All rounds share one ring, so that an API stays where it is."""

    title = "Frontier map"

    def __init__(self, rounds: Sequence[Round]) -> None:
        if not rounds:
            raise ValueError("a frontier map needs at least one round: give [Round(sets, weakness)]")
        self.rounds = tuple(rounds)
        ring = frames.api_graph_frame(names for one in rounds for names in one.sets)
        self.ring = ring[ring["other"].isna()].drop(columns=["other", "weight"])
        super().__init__(Place(len(self.rounds)))

    def picture(self, state: Place) -> str:
        nodes, edges = self.frames(state.number)
        with figures.style():
            figure = skills(nodes, edges)
        asked = nodes[nodes["asked"]].sort_values("skill", kind="stable")
        text = f"Round {state.number} of {len(self.rounds)}: {len(self.rounds[state.number - 1].sets)} sets drawn. "
        weak = [(r.node, r.skill, r.low, r.high, r.seen) for r in asked.head(SHOWN).itertuples(index=False)]
        return (
            paragraph(text + skills_alt(nodes, edges))
            + image(figure, text + skills_alt(nodes, edges))
            + paragraph("The weakest APIs among those asked for in this round, with a 90 % interval:")
            + table(["API", "skill", "low", "high", "verdicts"], weak)
        )

    def frames(self, number: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """APIs (node, x, y, group, skill, low, high, seen, asked) and pairs asked for together (node, other, rate)."""
        one = self.rounds[number - 1]
        asked = {name for names in one.sets for name in names}
        estimates = [one.weakness.skill(name) for name in self.ring["node"]]
        nodes = self.ring.assign(
            skill=[e.mean for e in estimates],
            low=[e.low for e in estimates],
            high=[e.high for e in estimates],
            seen=[e.seen for e in estimates],
            asked=self.ring["node"].isin(asked),
        )
        rows = [(a, b, one.weakness.rate(s)) for s in one.sets for a, b in combinations(sorted(set(s)), 2)]
        return nodes, pd.DataFrame(rows, columns=["node", "other", "rate"])

    def controls(self) -> list[Any]:
        return [self.bind(slider("round", self.state.number, 1, len(self.rounds), 1), "number")]
