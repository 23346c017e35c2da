"""How answers ended."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from kzlib.drawings.palette import INK

OUTCOME_COLUMNS = ("label", "outcome", "count")

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
