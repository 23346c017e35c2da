"""Schedules are data: how a kernel is tiled, fused and walked. `choose` fits one to a kernel's sizes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from kzlib.teacher.kernel import Kernel

# one schedule for the plain style: short kernels, one block a row
PLAIN: dict[str, Any] = {"style": "plain", "fuse": True, "block": 1024, "passes": "one", "tile": (64, 64, 32)}
LONGEST_ROW = 16384  # elements one program keeps in registers before it walks the row in blocks


def choose(kernel: Kernel, schedule: dict[str, Any]) -> Kernel:
    """The kernel with the parts of the schedule that its sizes allow."""
    fitted = dict(schedule)
    if kernel.kind in ("row", "reduce", "scan") and kernel.row_length() > LONGEST_ROW:
        fitted["passes"] = "loop"
        fitted["block"] = 4096
    return replace(kernel, schedule=fitted)


def draw(rng: random.Random, styles: str) -> dict[str, Any]:
    """A schedule for one sample: the plain one, or one of the many."""
    if styles == "plain":
        return dict(PLAIN)
    return {
        "style": "varied",
        "fuse": rng.random() < 0.8,
        "block": rng.choice((256, 512, 1024, 2048)),
        "passes": rng.choice(("one", "one", "loop")),
        "tile": rng.choice(((64, 64, 32), (32, 32, 32), (128, 64, 32), (64, 128, 32), (32, 64, 16), (64, 32, 64))),
        "stages": rng.choice((None, None, 2, 3)),
        "num_warps": rng.choice((None, None, 4, 8)),
        "autotune": rng.random() < 0.25,  # one configuration: several need a device to choose on
        "comments": rng.random() < 0.6,
        "threads": rng.choice((128, 256, 256, 512)),
        "form": rng.choice(("load_inline", "load_inline", "nvrtc")),
    }


__all__ = ["LONGEST_ROW", "PLAIN", "choose", "draw"]
