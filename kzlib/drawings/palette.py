"""Hues, markers and dashes of every picture, and the small words that several share.

Okabe-Ito hues, lines only in the ones that keep 3:1 on white; and never hue alone: markers, line styles and hatches
carry the same difference, so every picture reads in grey. Source: issue 8 item 4.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

INK = "#222222"
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
MARKERS = ("o", "s", "^", "D", "v")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (4, 1, 1, 1)))
HATCHES = ("", "//", "..", "xx", "\\\\")


def say_empty(axis: Axes, text: str) -> None:
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color="#666666")


def text_of(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def kinds_of(frame: pd.DataFrame) -> str:
    """ "measured" or "modelled": always said beside a speed."""
    return (
        " and ".join(sorted({kind for kind in map(text_of, frame["timing"]) if kind and not kind.startswith("none")}))
        or "not timed"
    )


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.1f} min"
