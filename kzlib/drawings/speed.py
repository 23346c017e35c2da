"""Figures 4 and 5: speed under the threshold alpha, and fast_p@k. The kind of timing is always in the picture."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kzlib.drawings.palette import DASHES, HUES, INK, MARKERS, kinds_of, say_empty

ALPHA_COLUMNS = ("label", "seeds", "tasks", "value", "low", "high", "timing", "main")
FAST_P_COLUMNS = ("backend", "model", "k", "p", "value", "low", "high", "tasks", "timing")


def alpha(frame: pd.DataFrame) -> Figure:
    """Figure 4: a bar a variant, the speedup of the fastest correct kernel of n answers (geometric mean over tasks)."""
    figure = Figure(figsize=(max(4.2, 1.0 + 0.95 * len(frame)), 3.1), layout="constrained")
    axis = figure.subplots()
    for place, row in enumerate(frame.itertuples(index=False)):
        if pd.isna(row.value):
            axis.text(place, 0.02, "no correct\nkernel", ha="center", va="bottom", fontsize=7.5)
            continue
        hue, hatch = (HUES[0], "") if row.main else ("#9ecae1", "//")
        axis.bar(place, row.value, width=0.62, color=hue, hatch=hatch, edgecolor=INK, linewidth=0.7)
        if not pd.isna(row.low):
            error = [[row.value - row.low], [row.high - row.value]]
            axis.errorbar(place, row.value, yerr=error, color=INK, capsize=3, linewidth=1)
        top = row.value if pd.isna(row.high) else max(row.high, row.value)
        axis.annotate(
            f"{row.value:.2f}x",
            (place, top),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            zorder=4,
        )
    axis.axhline(1.0, color=INK, linewidth=0.9, linestyle=DASHES[1], label="PyTorch eager", zorder=3)
    axis.set_xlim(-0.6, len(frame) - 0.4)
    figure.legend(loc="outside upper right")
    axis.set_xticks(range(len(frame)), [f"{r.label}\n{tasks(r.tasks)}" for r in frame.itertuples(index=False)])
    axis.margins(y=0.15)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(f"speedup, best of n answers\n({kinds_of(frame)})")
    return figure


def alpha_alt(frame: pd.DataFrame) -> str:
    parts = [
        f"{r.label} no correct kernel" if pd.isna(r.value) else f"{r.label} {r.value:.2f} times over {tasks(r.tasks)}"
        for r in frame.itertuples(index=False)
    ]
    return f"Bar chart of the speedup ({kinds_of(frame)}) of the fastest correct kernel: {'; '.join(parts)}."


def fast_p(frame: pd.DataFrame) -> Figure:
    """Figure 5: share of tasks with one of k answers correct and more than p times faster; Triton left, CUDA right."""
    figure = Figure(figsize=(7.2, 3.4), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    highest = frame[["value", "high"]].max().max()
    top = 1.0 if pd.isna(highest) else min(1.0, max(0.1, 1.15 * highest))
    models, ks = list(dict.fromkeys(frame["model"])), sorted(frame["k"].unique())
    for axis, backend in zip(axes, ("triton", "cuda"), strict=True):
        part = frame[(frame["backend"] == backend) & frame["value"].notna()]
        axis.set_title(f"{'Triton' if backend == 'triton' else 'CUDA'}{panel_timing(part)}")
        axis.set_xlabel("p (times faster than PyTorch eager)")
        axis.set_ylim(-0.02 * top, 1.02 * top)
        for (model, k), curve in part.sort_values("p", kind="stable").groupby(["model", "k"]):
            place, dash = models.index(model) % len(HUES), DASHES[ks.index(k) % len(DASHES)]
            axis.plot(curve["p"], curve["value"], color=HUES[place], linestyle=dash, marker=MARKERS[place])
            if curve["low"].notna().all():
                axis.fill_between(curve["p"], curve["low"], curve["high"], color=HUES[place], alpha=0.1, linewidth=0)
        if part.empty:
            say_empty(axis, "not run")
    axes[0].set_ylabel("share of tasks")
    handles = [Line2D([], [], color=HUES[i % 5], marker=MARKERS[i % 5], label=model) for i, model in enumerate(models)]
    handles += [Line2D([], [], color=INK, linestyle=DASHES[i % 4], label=f"k = {k}") for i, k in enumerate(ks)]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(handles)))
    return figure


def fast_p_alt(frame: pd.DataFrame) -> str:
    parts = []
    known = frame[frame["value"].notna()].sort_values("p", kind="stable")
    for (backend, model, k), curve in known.groupby(["backend", "model", "k"]):
        first, last = curve.iloc[0], curve.iloc[-1]
        parts.append(
            f"{backend} {model} k={k}: {first['value']:.2f} at p={first['p']:g}, {last['value']:.2f} at p={last['p']:g}"
        )
    return f"Curves of fast_p@k ({kinds_of(frame)} times) against p. {'; '.join(parts) or 'No curve was run'}."


def tasks(count: int) -> str:
    """
    >>> tasks(1), tasks(2)
    ('1 task', '2 tasks')
    """
    return f"{count} task{'' if count == 1 else 's'}"


def panel_timing(part: pd.DataFrame) -> str:
    return "" if part.empty else f" ({kinds_of(part)})"
