"""Where a run's time went: its stages, and inside the verifier the stages of a verdict."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from kzlib.drawings.palette import HATCHES, HUES, INK, minutes

PIPELINE_COLUMNS = ("stage", "part", "seconds")
VERDICT_COLUMNS = ("label", "part", "seconds", "verdicts", "at_once")
ORDER = ("generate", "verify", "train", "reference", "build", "fork", "load", "run", "corrupted_run", "compare", "time")
REST = ("rest", "waiting")  # what nothing accounts for: always last, always grey
GREY = "#cccccc"


def pipeline(frame: pd.DataFrame) -> Figure:
    """Wall time of every stage (left), and what share of it went into generating, verifying, training (right)."""
    stages = list(dict.fromkeys(frame["stage"]))
    totals = frame.groupby("stage")["seconds"].sum()
    figure = Figure(figsize=(7.6, 1.3 + 0.3 * len(stages)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1, 1))
    for place, stage in enumerate(stages):
        left.barh(place, totals[stage] / 60, height=0.66, color=HUES[0], edgecolor=INK, linewidth=0.5)
        text = minutes(totals[stage])
        _beside(left, totals[stage] / 60, place, text)
    shares = frame.assign(value=frame["seconds"] / frame["stage"].map(totals).clip(lower=1e-9))
    parts = _stack(right, shares, "stage", stages)
    left.set_yticks(range(len(stages)), stages)
    left.invert_yaxis()
    left.margins(x=0.2)
    left.set_xlim(left=0)
    left.set_xlabel("wall time (minutes)")
    right.set_xlim(0, 1)
    right.set_xlabel("share of the stage's time")
    _finish(figure, (left, right), parts)
    return figure


def pipeline_alt(frame: pd.DataFrame) -> str:
    totals = frame.groupby("stage", sort=False)["seconds"].sum()
    return f"Bars of wall time: {'; '.join(f'{stage} {minutes(s)}' for stage, s in totals.items())}."


def verdicts(frame: pd.DataFrame) -> Figure:
    """Mean seconds of a verdict by its stages; beside each bar the number of verdicts, and how many ran at once."""
    labels = list(dict.fromkeys(frame["label"]))
    figure = Figure(figsize=(7.6, 1.4 + 0.36 * len(labels)), layout="constrained")
    axis = figure.subplots()
    parts = _stack(axis, frame.assign(value=frame["seconds"]), "label", labels)
    for place, label in enumerate(labels):
        own = frame[frame["label"] == label]
        busy = own["at_once"].iloc[0]
        text = f"n={own['verdicts'].iloc[0]}" + ("" if pd.isna(busy) else f", {busy:.1f} at once")
        _beside(axis, own["seconds"].sum(), place, text)
    axis.set_yticks(range(len(labels)), labels)
    axis.invert_yaxis()
    axis.margins(x=0.24)
    axis.set_xlim(left=0)
    axis.set_xlabel("mean seconds of a verdict")
    _finish(figure, (axis,), parts)
    return figure


def verdicts_alt(frame: pd.DataFrame) -> str:
    words = []
    for label, own in frame.groupby("label", sort=False):
        longest = own.loc[own["seconds"].idxmax()]
        words.append(
            f"{label}: {own['seconds'].sum():.2g} s over {own['verdicts'].iloc[0]} verdicts, most in {longest['part']}"
        )
    return f"Stacked bars of the mean time of a verdict by stage. {'; '.join(words)}."


def _stack(axis: Axes, frame: pd.DataFrame, by: str, labels: list[str]) -> list[tuple[str, dict[str, Any]]]:
    """Stacked bars of `value`; returns each part with its look."""
    present = set(frame["part"])
    names = [*(part for part in ORDER if part in present), *sorted(present - {*ORDER, *REST})]
    names += [part for part in REST if part in present]
    looks: dict[str, dict[str, Any]] = {
        name: {"facecolor": GREY, "hatch": ""} if name in REST
        else {"facecolor": HUES[number % 5], "hatch": HATCHES[(number + number // 5) % 5]}
        for number, name in enumerate(names)
    }  # fmt: skip
    edge = dict.fromkeys(labels, 0.0)
    for name in names:
        for row in frame[frame["part"] == name].to_dict("records"):
            dark = looks[name]["facecolor"] == "#000000" and looks[name]["hatch"]
            axis.barh(
                labels.index(row[by]), row["value"], left=edge[row[by]], height=0.66, linewidth=0.5,
                edgecolor="white" if dark else INK, **looks[name],
            )  # fmt: skip
            edge[row[by]] += row["value"]
    return list(looks.items())


def _beside(axis: Axes, x: float, y: float, text: str) -> None:
    axis.annotate(text, (x, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)


def _finish(figure: Figure, axes: tuple[Axes, ...], parts: list[tuple[str, dict[str, Any]]]) -> None:
    for axis in axes:
        axis.grid(axis="y", visible=False)
        axis.grid(axis="x", visible=True)
    handles = [
        Patch(edgecolor="white" if look["facecolor"] == "#000000" else INK, label=name, **look) for name, look in parts
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
