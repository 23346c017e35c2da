"""How answers ended, and where a run's time went."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from kzlib.drawings.palette import HATCHES, HUES, INK, minutes

OUTCOME_COLUMNS = ("label", "outcome", "count")
PIPELINE_COLUMNS = ("stage", "part", "seconds")

# Grouped by meaning: right, nearly, wrong, no usable answer, not judged. Hatches tell them apart in grey.
OUTCOMES = {
    "pass": ("#009E73", ""),
    "library_only": ("#56B4E9", "//"),
    "cheat": ("#0072B2", "xx"),
    "wrong": ("#D55E00", ""),
    "runtime_fail": ("#E69F00", "\\\\"),
    "timeout": ("#E69F00", ".."),
    "compile_fail": ("#F0E442", ""),
    "compile_timeout": ("#F0E442", ".."),
    "no_code": ("#bbbbbb", ""),
    "truncated": ("#bbbbbb", "//"),
    "invalid_task": ("#ffffff", "xx"),
    "unsupported": ("#ffffff", "//"),
    "infra": ("#ffffff", ".."),
}


def outcomes(frame: pd.DataFrame) -> Figure:
    """How all attempts ended, one stacked bar a group; the number in a segment is a count."""
    labels = list(dict.fromkeys(frame["label"]))
    figure = Figure(figsize=(7.2, 1.5 + 0.42 * len(labels)), layout="constrained")
    axis = figure.subplots()
    left = dict.fromkeys(labels, 0.0)
    totals = frame.groupby("label")["count"].sum()
    present = [name for name in OUTCOMES if name in set(frame["outcome"])]
    for name in present:
        hue, hatch = OUTCOMES[name]
        for row in frame[frame["outcome"] == name].itertuples(index=False):
            share = row.count / totals[row.label]
            place = labels.index(row.label)
            axis.barh(
                place, share, left=left[row.label], color=hue, hatch=hatch, edgecolor=INK, linewidth=0.5, height=0.66
            )
            if share > 0.045:
                dark = hue in ("#0072B2", "#009E73", "#D55E00") and not hatch
                box = None if not hatch else {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                axis.text(
                    left[row.label] + share / 2, place, str(row.count), ha="center", va="center", fontsize=7.5,
                    color="white" if dark else INK, bbox=box, fontweight="bold" if dark else "normal",
                )  # fmt: skip
            left[row.label] += share
    axis.set_yticks(range(len(labels)), [f"{label}  (n={totals[label]})" for label in labels])
    axis.invert_yaxis()
    axis.set_xlim(0, 1)
    axis.set_xlabel("share of answers")
    axis.grid(axis="y", visible=False)
    handles = [Patch(facecolor=OUTCOMES[n][0], hatch=OUTCOMES[n][1], edgecolor=INK, label=n) for n in present]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def outcomes_alt(frame: pd.DataFrame) -> str:
    parts = []
    for label, rows in frame.groupby("label", sort=False):
        counts = ", ".join(f"{r.count} {r.outcome}" for r in rows.itertuples(index=False) if r.count)
        parts.append(f"{label}: {counts}")
    return f"Stacked bars of how answers ended. {'; '.join(parts)}."


def pipeline(frame: pd.DataFrame) -> Figure:
    """Wall time of every stage, split into its parts where the stage says them."""
    stages = list(dict.fromkeys(frame["stage"]))
    parts = sorted(
        dict.fromkeys(frame["part"]), key=lambda part: part == "rest"
    )  # what no step accounts for comes last
    figure = Figure(figsize=(7.2, 1.1 + 0.32 * len(stages) + (0.3 if len(parts) > 1 else 0)), layout="constrained")
    axis = figure.subplots()
    left = dict.fromkeys(stages, 0.0)
    for number, part in enumerate(parts):
        for row in frame[frame["part"] == part].itertuples(index=False):
            axis.barh(
                stages.index(row.stage), row.seconds / 60, left=left[row.stage], height=0.66, edgecolor=INK,
                linewidth=0.5, color=HUES[number % 5] if number < 4 else "#bbbbbb", hatch=HATCHES[number % 5],
            )  # fmt: skip
            left[row.stage] += row.seconds / 60
    for place, stage in enumerate(stages):
        axis.annotate(
            minutes(left[stage] * 60),
            (left[stage], place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axis.set_yticks(range(len(stages)), stages)
    axis.invert_yaxis()
    axis.margins(x=0.14)
    axis.set_xlim(left=0)
    axis.grid(axis="y", visible=False)
    axis.grid(axis="x", visible=True)
    axis.set_xlabel("wall time (minutes)")
    if len(parts) > 1:
        handles = [
            Patch(facecolor=HUES[i % 5] if i < 4 else "#bbbbbb", hatch=HATCHES[i % 5], edgecolor=INK, label=part)
            for i, part in enumerate(parts)
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def pipeline_alt(frame: pd.DataFrame) -> str:
    totals = frame.groupby("stage", sort=False)["seconds"].sum()
    return f"Bars of wall time: {'; '.join(f'{stage} {minutes(s)}' for stage, s in totals.items())}."
