"""Figure 7: which APIs real modules use together, and the API sets that were sampled."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as MplPath

from kzlib.drawings.palette import HUES, MARKERS

HEATMAP_COLUMNS = ("a", "b", "value")
GRAPH_COLUMNS = ("node", "other", "weight", "x", "y", "group")


def heatmap(frame: pd.DataFrame, label: str = "classes that use both APIs (log scale)") -> Figure:
    """Figure 7, left: how often two APIs are used by the same class. Zero is white, the scale is logarithmic."""
    from matplotlib.colors import LogNorm

    names = list(dict.fromkeys([*frame["a"], *frame["b"]]))
    grid = np.full((len(names), len(names)), np.nan)
    places = {name: i for i, name in enumerate(names)}
    for row in frame.itertuples(index=False):
        if row.value > 0:
            grid[places[row.a], places[row.b]] = grid[places[row.b], places[row.a]] = row.value
    side = 2.6 + 0.17 * len(names)
    figure = Figure(figsize=(side + 0.6, side), layout="constrained")
    axis = figure.subplots()
    image = axis.imshow(grid, cmap="cividis", norm=LogNorm(vmin=1, vmax=max(2, np.nanmax(grid))), interpolation="none")
    short = [short_api(name) for name in names]
    axis.set_xticks(range(len(names)), short, rotation=90, fontsize=7)
    axis.set_yticks(range(len(names)), short, fontsize=7)
    axis.grid(visible=False)
    figure.colorbar(image, ax=axis, shrink=0.7, label=label)
    return figure


def heatmap_alt(frame: pd.DataFrame) -> str:
    top = frame[frame["a"] != frame["b"]].sort_values("value", ascending=False, kind="stable").head(3)
    pairs = "; ".join(f"{r.a} with {r.b} {r.value:g}" for r in top.itertuples(index=False))
    count = len(set(frame["a"]) | set(frame["b"]))
    return f"Heat map of how often {count} APIs are used together. Most often: {pairs}."


def api_graph(frame: pd.DataFrame) -> Figure:
    """Figure 7, right: sampled API sets as a ring of APIs by operator class, with a chord for each pair drawn together.

    Rows without `other` are APIs (`weight`: sets that hold it), the rest are pairs (`weight`: sets that hold both).
    """
    nodes, edges = frame[frame["other"].isna()], frame[frame["other"].notna()]
    places = {r.node: np.array([r.x, r.y]) for r in nodes.itertuples(index=False)}
    figure = Figure(figsize=(7.2, 7.2), layout="constrained")
    axis = figure.subplots()
    heaviest = edges["weight"].max() if len(edges) else 1
    for r in edges.itertuples(index=False):
        a, b = places[r.node], places[r.other]
        chord = MplPath([a, (a + b) * 0.15, b], [MplPath.MOVETO, MplPath.CURVE3, MplPath.CURVE3])
        width = 0.25 + 1.5 * r.weight / heaviest
        axis.add_patch(PathPatch(chord, facecolor="none", edgecolor="#555555", linewidth=width, alpha=0.25, zorder=1))
    for number, (group, own) in enumerate(nodes.groupby("group", sort=False)):
        axis.scatter(
            own["x"],
            own["y"],
            s=6 + 30 * own["weight"] / nodes["weight"].max(),
            color=HUES[number % 5],
            marker=MARKERS[number % 5],
            edgecolor="white",
            linewidth=0.2,
            zorder=2,
        )
        x, y = own["x"].mean(), own["y"].mean()
        around(axis, x, y, f"{group} ({len(own)})")
    axis.set_xlim(-1.55, 1.55)
    axis.set_ylim(-1.55, 1.55)
    axis.set_aspect("equal")
    axis.set_axis_off()
    return figure


def around(axis: Axes, x: float, y: float, text: str) -> None:
    """Text outside the ring, read outwards from the direction (x, y)."""
    angle = float(np.degrees(np.arctan2(y, x)))
    left = abs(angle) > 90
    reach = 1.05 / max(float(np.hypot(x, y)), 1e-9)
    axis.text(
        x * reach,
        y * reach,
        text,
        rotation=angle + 180 if left else angle,
        rotation_mode="anchor",
        ha="right" if left else "left",
        va="center",
        fontsize=7.5,
    )


def api_graph_alt(frame: pd.DataFrame) -> str:
    nodes, edges = frame[frame["other"].isna()], frame[frame["other"].notna()]
    most = ", ".join(nodes.sort_values("weight", ascending=False, kind="stable")["node"].head(3))
    return f"Graph of {len(nodes)} APIs joined by {len(edges)} sampled pairs; drawn most often: {most}."


def short_api(name: str) -> str:
    return name.removeprefix("torch.").replace("nn.functional.", "F.")
