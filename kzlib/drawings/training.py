"""Figure 3: training dynamics of Proposer and Coder."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from kzlib.drawings.palette import DASHES, HUES, say_empty, text_of

COLUMNS = ("run", "seed", "frozen", "role", "quantity", "backend", "step", "value")

QUANTITIES = {  # how a curve of figure 3 is named and drawn
    "validity": (HUES[0], "o", "validity rate"),
    "coder_accuracy": (HUES[1], "s", "Coder accuracy"),
    "frontier_reward": (HUES[2], "^", "frontier reward"),
    "pass@1": (HUES[0], "o", "pass@1"),
    "fast_1@1": (HUES[1], "s", "fast_1@1"),
}


BROAD = {"pass@1": 3.6}  # points: where every right answer is fast, one curve lies on the other and both are to be seen


def training(frame: pd.DataFrame, smooth: int = 1) -> Figure:
    """Figure 3: left the Proposer's steps, right the Coder's. Solid: full process; lighter dotted: Proposer frozen."""
    legends = {role: _training_legend(frame[frame["role"] == role]) for role in ("proposer", "coder")}
    rows = max(-(-len(handles) // 2) for handles in legends.values())
    figure = Figure(figsize=(7.6, 2.6 + 0.2 * rows), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, role in zip(axes, ("proposer", "coder"), strict=True):
        part = frame[frame["role"] == role]
        axis.set_title(f"{role.capitalize()} training")
        axis.set_xlabel(f"{role.capitalize()} step (all rounds)")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_ylabel("share, or reward" if role == "proposer" else "share of answers")
        for key, curve in part.groupby(["quantity", "backend", "frozen"], sort=False, dropna=False):
            quantity, backend, frozen = key
            _curve(axis, curve, str(quantity), text_of(backend), bool(frozen), smooth)
        if part.empty:
            say_empty(axis, "not run")
        else:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.22)}
            axis.legend(handles=legends[role], ncols=2, fontsize=7, columnspacing=1, **place)
    return figure


def _curve(axis: Axes, curve: pd.DataFrame, quantity: str, backend: str, frozen: bool, smooth: int) -> None:
    hue, marker, _ = QUANTITIES[quantity]
    table = curve.pivot_table(index="step", columns="seed", values="value", aggfunc="mean").sort_index()
    mean = table.mean(axis=1)
    bold = mean.rolling(smooth, min_periods=1).mean() if smooth > 1 else mean
    dash: Any = DASHES[2] if frozen else DASHES[1] if backend == "cuda" else "-"
    fade = 0.55 if frozen else 1.0
    if table.shape[1] > 1:
        axis.fill_between(mean.index, table.min(axis=1), table.max(axis=1), color=hue, alpha=0.15, linewidth=0)
    if smooth > 1:
        axis.plot(mean.index, mean, color=hue, alpha=0.3 * fade, linewidth=0.8, linestyle=dash)
    hollow = "white" if backend == "cuda" else hue
    apart = max(1, len(bold) // 8)
    axis.plot(
        bold.index, bold, color=hue, alpha=fade, linestyle=dash, marker=marker, markerfacecolor=hollow,
        markevery=(apart // 2 if quantity in BROAD else 0, apart), linewidth=BROAD.get(quantity),
    )  # fmt: skip


def _training_legend(part: pd.DataFrame) -> list[Line2D]:
    return [
        _legend_line(str(quantity), text_of(backend), bool(frozen))
        for quantity, backend, frozen in part[["quantity", "backend", "frozen"]]
        .drop_duplicates()
        .itertuples(index=False)
    ]


def _legend_line(quantity: str, backend: str, frozen: bool) -> Line2D:
    hue, marker, label = QUANTITIES[quantity]
    words = [label, *([backend] if backend else []), *(["frozen"] if frozen else [])]
    dash: Any = DASHES[2] if frozen else DASHES[1] if backend == "cuda" else "-"
    return Line2D(
        [],
        [],
        color=hue,
        marker=marker,
        markerfacecolor="white" if backend == "cuda" else hue,
        linestyle=dash,
        linewidth=BROAD.get(quantity),
        alpha=0.55 if frozen else 1,
        label=", ".join(words),
    )


def training_alt(frame: pd.DataFrame) -> str:
    """First and last value of every curve, in words."""
    parts = []
    for key, curve in frame.groupby(["role", "quantity", "backend", "frozen"], sort=False, dropna=False):
        role, quantity, backend, frozen = key
        mean = curve.groupby("step")["value"].mean()
        name = " ".join([QUANTITIES[str(quantity)][2], text_of(backend), "with the Proposer frozen" if frozen else ""])
        parts.append(
            f"{role} {' '.join(name.split())} goes from {mean.iloc[0]:.2f} at step {mean.index[0]} "
            f"to {mean.iloc[-1]:.2f} at step {mean.index[-1]}"
        )
    return f"Line charts of training, {frame['seed'].nunique()} seed(s): {'; '.join(parts)}."
