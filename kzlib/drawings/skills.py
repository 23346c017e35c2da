"""The Coder's estimated skill for each API, and which pairs asked for lie at its frontier."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as MplPath

from kzlib.drawings.apis import around
from kzlib.drawings.palette import HUES, INK

FRONTIER = (0.35, 0.65)  # solve rates from which the Coder learns most


def skills(nodes: pd.DataFrame, edges: pd.DataFrame) -> Figure:
    """A ring of APIs: colour is skill (dark weak, bright strong), size is evidence, an edge ring means asked for.

    Chords join APIs asked for together: solid and coloured where their set is solved 35-65 % of the time, else dotted.
    """
    places = {r.node: np.array([r.x, r.y]) for r in nodes.itertuples(index=False)}
    figure = Figure(figsize=(6.6, 5.6), layout="constrained")
    axis = figure.subplots()
    for r in edges.itertuples(index=False):
        a, b = places[r.node], places[r.other]
        near = FRONTIER[0] <= r.rate <= FRONTIER[1]
        chord = MplPath([a, (a + b) * 0.15, b], [MplPath.MOVETO, MplPath.CURVE3, MplPath.CURVE3])
        look = {"edgecolor": HUES[1] if near else "#555555", "linestyle": "-" if near else ":"}
        axis.add_patch(PathPatch(chord, facecolor="none", linewidth=0.9 if near else 0.5, alpha=0.6, zorder=1, **look))
    asked = list(nodes["asked"])
    dots = axis.scatter(
        nodes["x"],
        nodes["y"],
        c=nodes["skill"],
        s=10 + 8 * np.sqrt(nodes["seen"]),
        cmap="cividis",
        vmin=0,
        vmax=1,
        edgecolors=[INK if one else "#bbbbbb" for one in asked],
        linewidths=[0.9 if one else 0.3 for one in asked],
        zorder=2,
    )
    for group, own in nodes.groupby("group", sort=False):
        around(axis, own["x"].mean(), own["y"].mean(), f"{group} ({len(own)})")
    lines = [Line2D([], [], color=HUES[1], linewidth=0.9), Line2D([], [], color="#555555", linestyle=":")]
    axis.legend(lines, ["set solved 35-65 %", "set solved less or more often"], loc="lower left", fontsize=7)
    axis.set_xlim(-1.6, 1.6)
    axis.set_ylim(-1.6, 1.6)
    axis.set_aspect("equal")
    axis.set_axis_off()
    figure.colorbar(dots, ax=axis, shrink=0.6, label="estimated skill")
    return figure


def skills_alt(nodes: pd.DataFrame, edges: pd.DataFrame) -> str:
    """The picture in words."""
    near = int(edges["rate"].between(*FRONTIER).sum())
    asked = nodes[nodes["asked"]]
    mean = (
        f"mean skill of the {len(asked)} APIs asked for {asked['skill'].mean():.2f}" if len(asked) else "none asked for"
    )
    return (
        f"{len(nodes)} APIs on a ring, {mean}; {near} of {len(edges)} pairs belong to sets solved 35-65 % of the time."
    )
