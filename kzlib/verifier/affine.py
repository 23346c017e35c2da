"""Does a kernel do no more than copy or rescale what it was given? One straight line through loaded and stored values.

A kernel that only scales the library's result is a decoy whatever it is called, and no log of library operators is
needed to see it. Source: issue 3; verifiers.md C8, C9, C12.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# Enough lanes that a curve cannot look straight by luck; fewer are only asked for equality.
FEW = 4
# Rounding of float32 and of the narrower types, relative to the largest stored value.
TOLERANCE = {2: 4e-3, 4: 1e-5, 8: 1e-9}


def line(loaded: np.ndarray, stored: np.ndarray) -> tuple[float, float] | None:
    """(slope, offset) when `stored` is slope x `loaded` + offset in every lane, else None.

    >>> x = np.array([1.0, 2.0, 4.0, 7.0])
    >>> line(x, 2 * x + 1)
    (2.0, 1.0)
    >>> line(x, x * x) is None
    True
    """
    if loaded.size != stored.size:
        return None
    with np.errstate(all="ignore"):
        x, y = loaded.astype(np.float64).reshape(-1), stored.astype(np.float64).reshape(-1)
        if not np.isfinite(y).all():
            return None
        if x.size < FEW:
            return (1.0, 0.0) if np.array_equal(x, y) else None
        if not np.isfinite(x).all():
            return None
        low, high = x.argmin(), x.argmax()
        width = x[high] - x[low]
        if width == 0:
            return None
        slope = (y[high] - y[low]) / width
        offset = y[low] - slope * x[low]
        size = max(np.abs(y).max(), abs(offset), 1e-300)
        tolerance = TOLERANCE.get(stored.dtype.itemsize, 1e-5)
        straight = np.abs(slope * x + offset - y).max() <= tolerance * size
    return (float(slope), float(offset)) if straight else None


def same_line(a: tuple[float, float], b: tuple[float, float]) -> bool:
    """The same slope and offset to a part in a thousand: a constant of the code, not a statistic of the data.

    >>> same_line((2.0, 0.0), (2.0, 1e-9)), same_line((2.0, 0.0), (2.1, 0.0))
    (True, False)
    """
    scale = max(abs(a[0]), abs(b[0]), 1e-300)
    return abs(a[0] - b[0]) <= 1e-3 * scale and abs(a[1] - b[1]) <= 1e-3 * max(scale, abs(a[1]))


def line_of_any(
    loaded: Iterable[np.ndarray], stored: np.ndarray, active: np.ndarray | None
) -> tuple[float, float] | None:
    """The line from the first loaded block that explains the stored one; constants have slope 0."""
    chosen = stored[active] if active is not None else stored.reshape(-1)
    if chosen.size >= FEW and (chosen == chosen.flat[0]).all():
        return (0.0, float(chosen.flat[0]))
    for block in loaded:
        if block.shape == stored.shape:
            found = line(block[active] if active is not None else block.reshape(-1), chosen)
            if found is not None:
                return found
    return None
