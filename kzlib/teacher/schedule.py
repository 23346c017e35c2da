"""Schedules are data: how a kernel is tiled, fused and walked. `choose` fits one to a kernel's sizes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from kzlib.teacher.expr import walk
from kzlib.teacher.kernel import Kernel
from kzlib.teacher.large import extent_of, fitted, walk_by_lanes

# one schedule for the plain style: short kernels, one block a row
PLAIN: dict[str, Any] = {"style": "plain", "fuse": True, "block": 1024, "passes": "one", "tile": (64, 64, 32)}
# few large programs: what an interpreter that works on whole blocks is quickest with
INTERPRETED: dict[str, Any] = {**PLAIN, "block": 1 << 16, "tile": (64, 2048, 64), "fit": False}
LONGEST_ROW = 16384  # elements one program keeps in registers before it walks the row in blocks


def choose(kernel: Kernel) -> Kernel:
    """The kernel with the parts of its schedule that its sizes allow."""
    if walk_by_lanes(kernel):
        sums = sum(x.op == "reduce" for x in walk(kernel.body))
        one = kernel.kind == "reduce" and sums == 1 and not kernel.state
        block = 256 if extent_of(kernel.space.outer) >= 1 << 17 else 64
        return replace(kernel, kind="map" if one else "lanes", schedule={**kernel.schedule, "block": block})
    chosen = dict(kernel.schedule)
    if kernel.kind in ("row", "reduce", "scan") and kernel.row_length() > LONGEST_ROW and "chunk" not in chosen:
        chosen |= {"passes": "loop", "block": 4096}
    by_size = fitted(replace(kernel, schedule=chosen)) if chosen.get("fit", True) else {}
    return replace(kernel, schedule={**chosen, **by_size})


def draw(rng: random.Random, styles: str) -> dict[str, Any]:
    """A schedule for one sample: one of the many where styles vary, else the plain one."""
    if styles != "varied":
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
        **rng.choice(({}, {}, {"lanes": 8}, {"spread": 48}, {"deep": 48}, {"register_tile": 4})),
    }


__all__ = ["INTERPRETED", "LONGEST_ROW", "PLAIN", "choose", "draw"]
