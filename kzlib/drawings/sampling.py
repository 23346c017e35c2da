"""Notebook 01: coverage and rounds as curves, sampled against real shares, modules accepted at each gate."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from kzlib.drawings.palette import DASHES, HATCHES, HUES, INK, MARKERS

CURVE_COLUMNS = ("series", "x", "y")
SHARE_COLUMNS = ("name", "group", "real", "sampled")
GATE_COLUMNS = ("gate", "entered", "passed")


def curves(
    frame: pd.DataFrame, xlabel: str = "", ylabel: str = "", log: bool = False, band: tuple[float, float] | None = None,
    limit: float | None = None, top: float | None = None,
) -> Figure:  # fmt: skip
    """One line a series; `band` shades a range of y that is wanted, `limit` draws a level that cannot be passed."""
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axis = figure.subplots()
    if band is not None:
        axis.axhspan(*band, color="#009E73", alpha=0.12, linewidth=0, label="wanted")
    if limit is not None:
        axis.axhline(limit, color=INK, linewidth=0.8, linestyle=":")
    for number, (series, own) in enumerate(frame.groupby("series", sort=False)):
        style = {"color": HUES[number % 5], "marker": MARKERS[number % 5], "linestyle": DASHES[number % len(DASHES)]}
        axis.plot(own["x"], own["y"], label=str(series), markersize=3.5, linewidth=1.3, **style)
    if log:
        axis.set_xscale("log")
    else:
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.set_ylim(0, top)
    axis.legend(fontsize=7.5)
    return figure


def curves_alt(frame: pd.DataFrame) -> str:
    ends = "; ".join(
        f"{series} from {own['y'].iloc[0]:.3g} to {own['y'].iloc[-1]:.3g}"
        for series, own in frame.groupby("series", sort=False)
    )
    return f"Curves over {frame['x'].min():g} to {frame['x'].max():g}: {ends}."


def shares(frame: pd.DataFrame) -> Figure:
    """Each API's share of real classes against its share of sampled sets, on logarithmic axes; the line is equality."""
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axis = figure.subplots()
    low = max(
        1e-6, min(frame.loc[frame["real"] > 0, "real"].min(), frame.loc[frame["sampled"] > 0, "sampled"].min()) / 2
    )
    for number, (group, own) in enumerate(frame.groupby("group", sort=False)):
        x, y = np.maximum(own["real"], low), np.maximum(own["sampled"], low)
        axis.scatter(
            x, y, s=14, color=HUES[number % 5], marker=MARKERS[number % 5], alpha=0.7, linewidth=0, label=str(group)
        )
    axis.plot([low, 1], [low, 1], color=INK, linewidth=0.8, linestyle=":")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("share of real classes that use the API (left edge: none seen)")
    axis.set_ylabel("share of sampled sets that hold it")
    axis.grid(axis="both")
    axis.legend(fontsize=7.5, loc="upper left")
    return figure


def shares_alt(frame: pd.DataFrame) -> str:
    rank = frame["real"].rank().corr(frame["sampled"].rank())
    unseen = int((frame["sampled"] == 0).sum())
    return (
        f"Scatter of {len(frame)} APIs, sampled against real share: rank correlation {rank:.2f}, {unseen} not sampled."
    )


def gates(frame: pd.DataFrame) -> Figure:
    """Modules that reach each validity gate in order: passed solid, rejected hatched; the number is how many fell."""
    figure = Figure(figsize=(6.2, 0.9 + 0.28 * len(frame)), layout="constrained")
    axis = figure.subplots()
    places = np.arange(len(frame))
    fallen = frame["entered"] - frame["passed"]
    axis.barh(places, frame["passed"], color=HUES[0], height=0.66, label="passed")
    some = fallen > 0
    axis.barh(
        places[some],
        fallen[some],
        left=frame["passed"][some],
        color="white",
        edgecolor=HUES[1],
        hatch=HATCHES[1],
        height=0.66,
        label="rejected",
    )
    for place, entered, count in zip(places, frame["entered"], fallen, strict=True):
        if count:
            axis.text(float(entered), float(place), f" −{count}", va="center", fontsize=7.5)
    axis.set_yticks(places, frame["gate"], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("modules that reach the gate")
    axis.grid(axis="y", visible=False)
    axis.legend(fontsize=7.5, loc="lower right")
    return figure


def gates_alt(frame: pd.DataFrame) -> str:
    fell = ", ".join(f"{r.gate} {r.entered - r.passed}" for r in frame.itertuples(index=False) if r.entered > r.passed)
    return f"Bars of {int(frame['entered'].iloc[0])} modules through {len(frame)} gates; rejected: {fell or 'none'}."
