"""Timing as arithmetic: paired samples to a speedup, when to stop, what no device can beat, when clocks disagree.

Pure functions; `gpu_pairs` collects the samples. Source: issue 4, item 4; reports P20, P36; verifiers.md A22-A30.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LAUNCH_BOUND_US = 12.0  # below this a call is mostly launching; its speedup says little about a kernel
SHORT_US = 50.0  # up to here (3 to 30 us were measured) two processes with the same code differ by a constant ...
PROCESS_ERROR = 0.031  # ... of this size: standard deviation, benchmarks/results/verifier-gpu-aa.csv
MIN_PAIRS = 8
MAX_PAIRS = 40
MAX_LAUNCH_BOUND = 20
FLOOR_SLACK = 0.8  # a time below this share of the floor is not a time


@dataclass(frozen=True, slots=True)
class Sample:
    """One timed pair, microseconds: device times, and the judge's own clock around each call."""

    candidate_us: float
    baseline_us: float
    candidate_wall_us: float
    baseline_wall_us: float


@dataclass(frozen=True, slots=True)
class Result:
    """What the samples say."""

    candidate_us: float
    baseline_us: float
    speedup: float
    n: int
    spread: float  # interquartile range over median of the candidate's times
    error: float  # standard error of the log of the speedup
    hidden_us: float  # time the judge's clock saw that the device events did not, beyond the baseline's
    launch_bound: bool


def summarise(samples: Sequence[Sample]) -> Result:
    """Medians of each side, the median of the paired ratios, and how sure it is.

    >>> summarise([Sample(10.0, 20.0, 110.0, 120.0)] * 9).speedup
    2.0
    """
    if not samples:
        raise ValueError("no timed pair")
    mine = [s.candidate_us for s in samples]
    ratios = [math.log(s.baseline_us / s.candidate_us) for s in samples]
    hidden = statistics.median(
        (s.candidate_wall_us - s.candidate_us) - (s.baseline_wall_us - s.baseline_us) for s in samples
    )
    centre = statistics.median(ratios)
    baseline = statistics.median(s.baseline_us for s in samples)
    candidate = statistics.median(mine)
    return Result(
        candidate, baseline, math.exp(centre), len(samples), iqr(mine) / candidate, _median_error(ratios), hidden,
        min(candidate, baseline) < LAUNCH_BOUND_US,
    )  # fmt: skip


def speedup_error(result: Result) -> float:
    """Standard error of the log of the speedup, with what more pairs of the same two processes do not take away.

    >>> short, long = (summarise([Sample(us, us, us, us)] * 9) for us in (10.0, 2000.0))
    >>> speedup_error(short), speedup_error(long)
    (0.031, 0.0)
    """
    return math.hypot(result.error, PROCESS_ERROR if result.candidate_us < SHORT_US else 0.0)


def iqr(values: Sequence[float]) -> float:
    """Interquartile range; 0 for fewer than two values.

    >>> iqr([1.0, 2.0, 3.0, 4.0, 5.0])
    2.0
    """
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high - low


def _median_error(values: Sequence[float]) -> float:
    """Standard error of a median, from the interquartile range (normal law: sigma = IQR / 1.349, times 1.253)."""
    return 1.253 * iqr(values) / 1.349 / math.sqrt(len(values))


def enough(samples: Sequence[Sample], target: float = 0.01) -> bool:
    """True when the speedup is known to `target` (a hundredth), or more pairs would not help.

    >>> enough([Sample(10.0, 20.0, 1.0, 1.0)] * 8), enough([Sample(10.0, 20.0, 1.0, 1.0)] * 3)
    (True, False)
    """
    if len(samples) < MIN_PAIRS:
        return False
    result = summarise(samples)
    if result.launch_bound:  # mostly the cost of launching, flagged as such: not worth the device's time alone
        return len(samples) >= MAX_LAUNCH_BOUND or result.error <= 1.5 * target
    return len(samples) >= MAX_PAIRS or result.error <= target


@cache
def device_facts(name: str) -> dict[str, Any] | None:
    """Bandwidth and rates of a device by its driver's name; None for one we have no data sheet of."""
    return json.loads(Path(__file__).with_name("device_facts.json").read_text()).get(name)


def floor_us(written: int, l2_bytes: int, flops: float, dtype: str, facts: dict[str, Any] | None) -> float:
    """Microseconds below which no honest call can be: bytes that must reach memory, operations at the peak rate.

    Output bytes that fit the cache need not reach memory within the call, and inputs need not all be read, so only
    writing beyond the cache counts.

    >>> floor_us(10**9, 0, 0, "float32", {"bandwidth_gb_s": 4000, "tflops": {"float32": 67}})
    250.0
    """
    if facts is None:
        return 0.0
    memory = max(0, written - l2_bytes) / (facts["bandwidth_gb_s"] * 1e3)
    rate = max(facts["tflops"].get(dtype, 0), facts["tflops"].get("tf32", 0) if dtype == "float32" else 0)
    return max(memory, flops / (rate * 1e6) if rate else 0.0)


def too_fast(candidate_us: float, floor: float) -> bool:
    """Below the physical floor, with slack for rounding of clocks."""
    return floor > 0 and candidate_us < FLOOR_SLACK * floor


def charged_us(result: Result) -> float:
    """The candidate's time with what its events did not show, where that is more than messages and launches explain.

    >>> charged_us(Result(100.0, 200.0, 2.0, 9, 0.0, 0.0, 5000.0, False))
    5100.0
    """
    explained = 1000.0 + 0.5 * result.candidate_us
    return result.candidate_us + (result.hidden_us if result.hidden_us > explained else 0.0)
