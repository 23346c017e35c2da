"""What a drawn figure shows, in words, read off its axes: an alt text that agrees with its picture."""

from __future__ import annotations

from math import isfinite
from typing import Any

from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

SAID = 12  # bars of one set; a longer list helps nobody who listens


def words(figure: Figure) -> str:
    """One sentence a panel: its axes, where each labelled line begins and ends, the length of each bar.

    >>> figure = Figure()
    >>> axis = figure.subplots()
    >>> _ = axis.plot([1, 9], [0.5, 0.25], label="loss")
    >>> axis.set(xlabel="step", ylabel="nats")[0].get_text()
    'step'
    >>> words(figure)
    'nats against step: loss from 0.5 at 1 to 0.25 at 9.'
    """
    return " ".join(_panel(axis) for axis in figure.axes)


def _panel(axis: Axes) -> str:
    """Lines that Matplotlib draws across a whole axis carry no data and are left out."""
    parts = [_line(line) for line in axis.lines if line.get_transform() == axis.transData]
    parts += [_bars(axis, bars) for bars in axis.containers if isinstance(bars, BarContainer)]
    names = " against ".join(filter(None, (axis.get_ylabel(), axis.get_xlabel())))
    return f"{names}: {'; '.join(parts) or 'nothing is drawn'}."


def _line(line: Line2D) -> str:
    label = str(line.get_label())
    name = "a line" if label.startswith("_") else label
    xs: Any = line.get_xdata(orig=False)  # arrays of floats; Matplotlib's hints allow more
    ys: Any = line.get_ydata(orig=False)
    points = [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if isfinite(y)]
    if not points:
        return f"{name} without values"
    first, last = points[0], points[-1]
    text = f"{name} from {_at(first)} to {_at(last)}"
    for word, sign in (("highest", 1), ("lowest", -1)):
        peak = max(points, key=lambda point: sign * point[1])
        if sign * peak[1] > max(sign * first[1], sign * last[1]):
            text += f", {word} {_at(peak)}"
    return text


def _at(point: tuple[float, float]) -> str:
    return f"{point[1]:.3g} at {point[0]:.3g}"


def _bars(axis: Axes, bars: BarContainer) -> str:
    flat = bars.orientation == "horizontal"
    ticks = axis.yaxis if flat else axis.xaxis
    named = {place: label.get_text() for place, label in zip(ticks.get_ticklocs(), ticks.get_ticklabels(), strict=True)}
    said = []
    for bar in bars.patches[:SAID]:
        length = bar.get_width() if flat else bar.get_height()
        place = bar.get_y() + bar.get_height() / 2 if flat else bar.get_x() + bar.get_width() / 2
        nearest = min(named, key=lambda tick: abs(tick - place), default=place)
        name = named.get(nearest, "") if abs(nearest - place) < 1e-6 else ""
        said.append(f"{length:.3g} at {name or format(place, '.3g')}")
    return f"{'bars' if len(said) > 1 else 'a bar'} {', '.join(said)}"
