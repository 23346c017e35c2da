"""A modelled time on a stated roofline, for machines that cannot measure one: launches and bytes, counted.

Per launch: launch cost + the largest of bytes touched / memory rate, bytes moved / cache rate, operations / peak. The
figures are data (`roofline.json`). Such a time is labelled `modelled` everywhere. Source: issue 3, item 5.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.records import Timing
from kzlib.verifier.ops import kind_of


@dataclass(frozen=True, slots=True)
class Roofline:
    """Rates of a device: bytes and operations a second, seconds a launch."""

    device: str
    memory: float
    cache: float
    flops: float
    launch: float

    def microseconds(self, unique: float, moved: float, flops: float) -> float:
        """One launch's time.

        >>> Roofline("toy", memory=1e6, cache=1e7, flops=1e9, launch=0.0).microseconds(10, 10, 0)
        10.0
        """
        return 1e6 * (self.launch + max(unique / self.memory, moved / self.cache, flops / self.flops))


def load_roofline(path: Path | None = None) -> Roofline:
    """The shipped roofline, or another JSON file of the same keys."""
    row = json.loads((path or Path(__file__).with_name("roofline.json")).read_text())
    return Roofline(
        row["device"], row["memory_bytes_per_second"], row["cache_bytes_per_second"], row["flops_per_second"],
        row["launch_seconds"],
    )  # fmt: skip


def library_us(ops: Iterable[dict[str, Any]], roofline: Roofline) -> float:
    """Time of logged library operators, one launch each; views and allocations are free."""
    return sum(
        roofline.microseconds(row["read"] + row["written"], row["read"] + row["written"], row["flops"])
        for row in ops
        if kind_of(row["op"]) in ("compute", "copy")
    )


def kernel_us(launches: Iterable[dict[str, Any]], roofline: Roofline) -> float:
    """Time of own kernels; launches made while autotuning are not part of a call."""
    return sum(
        roofline.microseconds(row["unique"], row["loaded"] + row["stored"], row["flops"])
        for row in launches
        if not row["tuning"]
    )


def modelled(reference_ops: list[dict[str, Any]], launches: list[dict[str, Any]], ops: list[dict[str, Any]]) -> Timing:
    """Modelled times of one call of the reference and one of the candidate."""
    roofline = load_roofline()
    baseline = library_us(reference_ops, roofline)
    candidate = kernel_us(launches, roofline) + library_us(ops, roofline)
    floor = roofline.launch * 1e6
    candidate, baseline = max(candidate, floor), max(baseline, floor)
    tiny = baseline < 2 * floor * max(1, sum(kind_of(r["op"]) in ("compute", "copy") for r in reference_ops))
    return Timing(candidate, baseline, baseline / candidate, "modelled", 1, 0.0, launch_bound=tiny)
