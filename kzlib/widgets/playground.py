"""CA-GRPO playground: one group of answers, the objective's constants as sliders, rewards and advantages as bars.

The numbers come from `ca_grpo.reward_parts` and `ca_grpo.advantages`, which the trainer calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure
from torch import Tensor

from kzlib import ca_grpo, figures
from kzlib.ca_grpo import CAGRPO, Normalisation, SpeedTerm
from kzlib.drawings.palette import HATCHES, HUES, INK
from kzlib.widgets.view import View, image, paragraph, select, slider, table

SLOWEST = 0.5


@dataclass(frozen=True, slots=True)
class Settings:
    """A group of `group` answers of which the first `right` are right, with speeds evenly from 0.5 to `fastest`."""

    alpha: float = 0.5
    beta: float = 0.1
    group: int = 8
    right: int = 4
    fastest: float = 3.0
    speed: SpeedTerm = "plain"
    normalisation: Normalisation = "group"

    @property
    def objective(self) -> CAGRPO:
        return CAGRPO(self.alpha, self.beta, self.speed, normalisation=self.normalisation)

    def answers(self) -> tuple[list[float], list[float]]:
        """c and S of every answer; a single right answer has the fastest speed.

        >>> Settings(group=4, right=2).answers()
        ([1.0, 1.0, 0.0, 0.0], [0.5, 3.0, 0.0, 0.0])
        """
        steps = max(1, self.right - 1)
        speeds = [self.fastest - (self.fastest - SLOWEST) * (steps - i) / steps for i in range(self.right)]
        if self.right == 1:
            speeds = [self.fastest]
        wrong = self.group - self.right
        return [1.0] * self.right + [0.0] * wrong, speeds + [0.0] * wrong


@dataclass(frozen=True, slots=True)
class Scores:
    """What the objective makes of a group: is the gate open, both summands of r, and A; one number an answer."""

    open: bool
    correct: list[float]
    bonus: list[float]
    advantage: list[float]


def scores(settings: Settings) -> Scores:
    """The group through the trainer's own functions.

    >>> [round(a, 2) for a in scores(Settings(alpha=0.5, group=8, right=2)).advantage[:2]]
    [1.73, 1.73]
    """
    c, S = (ca_grpo.as_groups(values, settings.group) for values in settings.answers())
    correct, bonus = ca_grpo.reward_parts(c, S, settings.objective)
    A = ca_grpo.advantages(correct + bonus, settings.normalisation)
    return Scores(bool(ca_grpo.gate(c, settings.alpha)[0]), row(correct), row(bonus), row(A))


def row(values: Tensor) -> list[float]:
    return [float(value) for value in values[0].tolist()]


class Playground(View[Settings]):
    """Sliders for alpha, beta, the group and its speeds."""

    title = "CA-GRPO playground"

    def __init__(self, alpha: float = 0.5, beta: float = 0.1, group: int = 8) -> None:
        super().__init__(Settings(alpha, beta, group, right=max(1, group // 2)))

    def picture(self, state: Settings) -> str:
        found = scores(state)
        _, speeds = state.answers()
        share = state.right / state.group
        gate = (
            f"{state.right} of {state.group} right: mean(c) = {share:.2f} "
            f"{'≥' if found.open else '<'} α = {state.alpha:g}, the gate is {'open' if found.open else 'shut'}."
        )
        rows = zip(found.correct, speeds, found.bonus, found.advantage, strict=True)
        shown = [(i, int(c), S, c + bonus, A) for i, (c, S, bonus, A) in enumerate(rows, 1)]
        return (
            paragraph(gate)
            + image(bars(found), f"Bars of reward and advantage of {state.group} answers. {gate}")
            + table(["answer", "c", "S", "r", "A"], shown)
        )

    def controls(self) -> list[Any]:
        start = self.state
        right = self.bind(slider("right answers", start.right, 0, start.group, 1), "right")

        def grow(change: dict[str, Any]) -> None:
            """The number of right answers cannot pass the group's size; both change as one state."""
            kept = min(self.state.right, change["new"])
            self.state = replace(self.state, right=kept, group=change["new"])
            right.max = change["new"]
            self.set()

        group = slider("group size G", start.group, 2, 16, 1)
        group.observe(grow, names="value")
        return [
            self.bind(slider("α (gate)", float(start.alpha), 0.0, 1.1, 0.05), "alpha"),
            self.bind(slider("β (speed)", float(start.beta), 0.0, 1.0, 0.05), "beta"),
            group,
            right,
            self.bind(slider("fastest S", start.fastest, SLOWEST, 10.0, 0.5), "fastest"),
            self.bind(select("speed term", ("plain", "capped", "log"), start.speed, "32em"), "speed"),
            self.bind(select("advantage", ("group", "mean_only"), start.normalisation, "32em"), "normalisation"),
        ]


def bars(found: Scores) -> Figure:
    """Left the reward as correctness plus speed, right the advantage."""
    with figures.style():
        figure = Figure(figsize=(7.4, 2.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        places = range(1, len(found.correct) + 1)
        left.bar(places, found.correct, color=HUES[0], label="c")
        left.bar(
            places, found.bonus, bottom=found.correct, color="white", edgecolor=HUES[1], hatch=HATCHES[1],
            label="c T(G) β S",
        )  # fmt: skip
        left.set_ylabel("reward r")
        left.set_ylim(0, max(1.5, 1.25 * max(a + b for a, b in zip(found.correct, found.bonus, strict=True))))
        left.legend(ncols=2, loc="upper right")
        right.bar(places, found.advantage, color=HUES[2])
        right.axhline(0, color=INK, linewidth=0.8)
        right.set_ylabel("advantage A")
        for axis in (left, right):
            axis.set_xlabel("answer")
            axis.set_xticks(list(places))
    return figure
