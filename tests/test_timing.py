"""Timing arithmetic: what a reader of a speedup relies on."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kzlib.verifier import timing
from kzlib.verifier.timing import Sample, charged_us, enough, floor_us, iqr, summarise, too_fast

TIMES = st.floats(min_value=0.5, max_value=1e6)


@given(st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=40))
def test_speedup_lies_between_the_extreme_pairs(pairs: list[tuple[float, float]]) -> None:
    result = summarise([Sample(a, b, a, b) for a, b in pairs])
    ratios = [b / a for a, b in pairs]
    assert min(ratios) * 0.999 <= result.speedup <= max(ratios) * 1.001
    assert result.n == len(pairs)


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=2, max_size=50))
def test_iqr_equals_the_slow_way(values: list[float]) -> None:
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    assert iqr(values) == pytest.approx(at(0.75) - at(0.25), rel=1e-9, abs=1e-6)


def test_reference_against_itself_is_one_within_a_few_per_cent() -> None:
    rng = random.Random(5)
    off = 0
    for _ in range(200):
        samples: list[Sample] = []
        while not enough(samples):
            drift = rng.uniform(0.9, 1.1)  # of the clock: both sides of a pair share it
            a, b = (drift * 100 * rng.gauss(1, 0.02) for _ in range(2))
            samples.append(Sample(a, b, a, b))
        off += not 0.95 <= summarise(samples).speedup <= 1.05
    assert off <= 2  # at most one in a hundred


def test_noisy_pairs_are_repeated_and_quiet_ones_are_not() -> None:
    quiet = [Sample(100.0, 150.0, 0.0, 0.0)] * timing.MIN_PAIRS
    noisy = [Sample(100.0 * (1 + 0.5 * (n % 2)), 150.0, 0.0, 0.0) for n in range(timing.MIN_PAIRS)]
    assert enough(quiet)
    assert not enough(noisy)
    assert enough(noisy * 10)  # but not for ever


def test_time_the_events_did_not_show_is_charged() -> None:
    hidden = [Sample(10.0, 100.0, 9_000.0, 400.0)] * 9  # the judge's clock saw 8.7 ms more than the baseline's
    result = summarise(hidden)
    assert charged_us(result) > 8_000
    usual = summarise([Sample(10.0, 100.0, 450.0, 400.0)] * 9)
    assert charged_us(usual) == usual.candidate_us


def test_small_calls_are_marked_launch_bound() -> None:
    assert summarise([Sample(5.0, 9.0, 0, 0)] * 8).launch_bound
    assert not summarise([Sample(500.0, 900.0, 0, 0)] * 8).launch_bound


def test_nobody_writes_faster_than_the_memory() -> None:
    facts = timing.device_facts("NVIDIA H200")
    assert facts is not None
    floor = floor_us(6 << 30, 60 << 20, 0.0, "float32", facts)
    assert floor == pytest.approx((6 * 2**30 - 60 * 2**20) / 4.8e6, rel=1e-6)
    assert too_fast(0.5 * floor, floor)
    assert not too_fast(1.1 * floor, floor)
    assert not too_fast(0.1, floor_us(1000, 60 << 20, 0.0, "float32", facts))
    assert floor_us(1 << 40, 0, 0.0, "float32", timing.device_facts("a card nobody knows")) == 0.0
