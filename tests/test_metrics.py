"""Scores: a wrong number here would be read as a result. Formulas are held against enumeration of every draw."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.intervals import interval, paired
from kzlib.metrics import (
    Attempt,
    average,
    best_speedups,
    fast_p_at,
    fast_p_at_k,
    launch_bound,
    outcome_counts,
    pass_at,
    pass_at_k,
    score_tasks,
    speeds,
    token_cost,
)
from kzlib.records import NOT_JUDGED, Outcome

PASS, WRONG = Outcome.PASS, Outcome.WRONG


def of(task: str, *outcomes: Outcome, **facts) -> list[Attempt]:
    return [Attempt(task, i, outcome, **facts) for i, outcome in enumerate(outcomes)]


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"), [(2, 0, 5, None), (5, 0, 5, 0.0), (5, 5, 5, 1.0), (5, 1, 5, 1.0), (200, 1, 1, 0.005)]
)
def test_report_p34_edge_cases_are_exact(n, c, k, expected):
    assert pass_at_k(n, c, k) == expected
    assert fast_p_at_k([2.0] * c + [None] * (n - c), 1.0, k) == expected


@given(st.lists(st.booleans(), min_size=1, max_size=9), st.integers(1, 10))
def test_pass_at_k_equals_the_share_of_all_draws_that_hold_a_correct_answer(correct, k):
    draws = list(itertools.combinations(correct, k))
    expected = sum(any(draw) for draw in draws) / len(draws) if draws else None
    assert pass_at_k(len(correct), sum(correct), k) == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.one_of(st.none(), st.floats(0.01, 100)), min_size=1, max_size=8),
    st.floats(0, 5),
    st.integers(1, 9),
)
def test_fast_p_at_k_equals_enumeration(speedups, p, k):
    draws = list(itertools.combinations(speedups, k))
    hits = [any(s is not None and s > p for s in draw) for draw in draws]
    assert fast_p_at_k(speedups, p, k) == pytest.approx(sum(hits) / len(hits) if hits else None, abs=1e-12)


@given(st.integers(1, 30), st.data())
def test_pass_at_k_grows_with_k_and_with_c(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    if k < n:
        assert pass_at_k(n, c, k) <= pass_at_k(n, c, k + 1)
    if c < n:
        assert pass_at_k(n, c, k) <= pass_at_k(n, c + 1, k)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(n, c, k):
    with pytest.raises(ValueError, match=r"cannot be|no meaning"):
        pass_at_k(n, c, k)


def test_exactly_p_times_faster_is_not_faster():
    assert fast_p_at_k([1.0, 1.0], p=1.0, k=1) == 0.0


def test_too_few_answers_are_counted_and_never_filled_in():
    estimate = pass_at(of("a", PASS, WRONG) + of("b", *[PASS] * 5), k=5)
    assert (estimate.value, estimate.tasks, estimate.left_out) == (1.0, 1, {"too_few_answers": 1})


def test_our_own_failures_leave_the_denominator_and_are_counted():
    attempts = (
        of("good", PASS, WRONG)
        + of("flaky machine", PASS, Outcome.INFRA)
        + of("bad task", Outcome.INVALID_TASK, Outcome.INVALID_TASK)
        + of("no device", Outcome.UNSUPPORTED, Outcome.UNSUPPORTED)
    )
    assert pass_at(attempts, k=1).value == pytest.approx(0.75)  # "flaky machine" is 1 of 1, not 1 of 2
    two = pass_at(attempts, k=2)
    assert (two.value, two.tasks) == (1.0, 1)
    assert two.left_out == {"infra": 1, "invalid_task": 1, "unsupported": 1}


def test_no_code_truncated_and_cheats_are_failures_of_the_candidate():
    attempts = of("a", Outcome.NO_CODE, Outcome.TRUNCATED, Outcome.CHEAT, Outcome.LIBRARY_ONLY, PASS)
    assert pass_at(attempts, k=1).value == pytest.approx(0.2)


OUTCOMES = st.sampled_from([PASS, PASS, WRONG, Outcome.NO_CODE, Outcome.CHEAT, *NOT_JUDGED])


@settings(max_examples=150)
@given(
    st.lists(st.lists(st.tuples(OUTCOMES, st.floats(0.1, 4)), min_size=1, max_size=6), max_size=5), st.integers(1, 4)
)
def test_scores_over_tasks_equal_a_slow_twin(tasks, k):
    """Brute force: every task that has k judged answers counts with the share of its draws that hold a hit."""
    attempts = [
        Attempt(str(t), i, outcome, speedup=s if outcome is PASS else None,
                timing_kind="measured" if outcome is PASS else None)
        for t, rows in enumerate(tasks) for i, (outcome, s) in enumerate(rows)
    ]  # fmt: skip
    for p in (None, 1.0):
        shares, too_few = [], 0
        for rows in tasks:
            hits = [o is PASS and (p is None or s > p) for o, s in rows if o not in NOT_JUDGED]
            draws = list(itertools.combinations(hits, k))
            if draws:
                shares.append(sum(any(draw) for draw in draws) / len(draws))
            else:
                too_few += 1
        found = pass_at(attempts, k, draws=10) if p is None else fast_p_at(attempts, p, k, draws=10)
        assert found.tasks == len(shares)
        assert sum(found.left_out.values()) == too_few
        assert found.value == (pytest.approx(sum(shares) / len(shares)) if shares else None)


def test_nothing_to_average_says_why():
    estimate = pass_at(of("a", Outcome.INFRA), k=1)
    assert estimate.value is None
    assert str(estimate) == "not available (1 infra)"
    assert str(pass_at([], k=1)) == "not available (no tasks)"


def timed(task: str, *speedups: float | None, kind: str = "measured", launch_bound: bool = False) -> list[Attempt]:
    return [
        Attempt(task, i, WRONG if s is None else PASS, speedup=s, timing_kind=s and kind, launch_bound=launch_bound)
        for i, s in enumerate(speedups)
    ]


def test_launch_bound_tasks_are_apart_but_count_for_correctness():
    attempts = timed("big", 2.0, None) + timed("tiny", 50.0, 50.0, launch_bound=True)
    fast = fast_p_at(attempts, p=1.0, k=1)
    assert (fast.value, fast.tasks, fast.left_out) == (0.5, 1, {"launch_bound": 1})
    assert fast_p_at(attempts, p=1.0, k=1, small=()).value == pytest.approx(0.75)
    assert pass_at(attempts, k=1).value == pytest.approx(0.75)
    assert best_speedups(attempts) == {"big": 2.0}


def test_unsolved_tasks_do_not_make_a_speed_of_zero_where_every_solved_task_is_too_small():
    attempts = timed("tiny", 3.0, launch_bound=True) + of("unsolved", WRONG)
    assert fast_p_at(attempts, p=1.0, k=1).value is None
    assert launch_bound(attempts) == {"tiny", "unsolved"}
    assert launch_bound([*attempts, *timed("big", 2.0)]) == {"tiny"}
    elsewhere = [dataclasses.replace(item, task_set="kernelbench") for item in timed("big", 2.0)]
    assert launch_bound([*attempts, *elsewhere]) == {"tiny", "unsolved"}  # another set's size says nothing of this one


def test_a_correct_kernel_without_a_time_makes_speed_unknown_not_slow():
    attempts = of("a", PASS, WRONG) + timed("b", 3.0, None)
    assert fast_p_at(attempts, p=1.0, k=1).left_out == {"not_timed": 1}


def test_measured_and_modelled_times_are_never_mixed():
    with pytest.raises(ValueError, match="mix measured and modelled"):
        fast_p_at(timed("a", 2.0) + timed("b", 2.0, kind="modelled"), p=1.0, k=1)


def test_report_p35_one_huge_value_does_not_carry_the_summary():
    values = [0.9] * 9 + [100.0]
    summary = speeds(values, kind="measured")
    assert summary.arithmetic_mean == pytest.approx(10.81)
    assert summary.geometric_mean == pytest.approx((0.9**9 * 100) ** 0.1)
    assert summary.median == 0.9
    assert summary.outliers == (100.0,)
    assert fast_p_at([a for i, v in enumerate(values) for a in timed(str(i), v)], p=1.0, k=1).value == 0.1


def test_the_reference_against_itself_is_not_faster_by_luck():
    noise = [0.985, 1.012, 0.999, 1.008, 1.001, 0.993, 1.015, 1.004, 0.997, 1.006]
    attempts = [Attempt(str(i), 0, PASS, speedup=s, timing_kind="measured", spread=0.02) for i, s in enumerate(noise)]
    assert score_tasks(attempts, 1, 1.0).values["1"] == 1.0  # the raw definition counts half of these as faster
    assert set(score_tasks(attempts, 1, 1.0, clear=True).values.values()) == {0.0}
    faster = [Attempt("x", 0, PASS, speedup=1.3, timing_kind="measured", spread=0.02)]
    assert score_tasks(faster, 1, 1.0, clear=True).values == {"x": 1.0}


def test_wrong_kernels_are_counted_not_averaged():
    summary = speeds([2.0, 8.0, None, None])
    assert (summary.n, summary.failed, summary.geometric_mean) == (2, 2, pytest.approx(4.0))


def test_log_space_does_not_overflow():
    assert speeds([20.0] * 250).geometric_mean == pytest.approx(20.0)
    assert not math.isfinite(math.prod([20.0] * 250))


@pytest.mark.parametrize("bad", [0.0, -1.0, float("inf"), float("nan")])
def test_impossible_speedups_are_refused(bad):
    with pytest.raises(ValueError, match="finite number above 0"):
        speeds([1.0, bad])


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.integers(0, 5))
def test_interval_holds_the_mean_and_is_the_same_for_the_same_seed(values, seed):
    low, high = interval(values, seed)
    assert low - 1e-9 <= sum(values) / len(values) <= high + 1e-9
    assert (low, high) == interval(values, seed)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    import numpy as np

    rng = np.random.default_rng(1)
    hits = 0
    for trial in range(200):
        low, high = interval(list(rng.binomial(1, 0.3, size=60).astype(float)), seed=trial, draws=400)
        hits += low <= 0.3 <= high
    assert hits / 200 > 0.88


def test_agreeing_tasks_do_not_claim_certainty():
    assert interval([0.0] * 10) == (0.0, pytest.approx(0.3085, abs=1e-3))
    assert interval([1.0] * 10) == (pytest.approx(0.6915, abs=1e-3), 1.0)
    assert interval([0.5]) == (None, None)
    low, high = interval([0.5] * 10)
    assert low < 0.5 < high


def test_paired_uses_only_tasks_both_runs_have():
    result = paired({"x": 0.0, "y": 1.0, "old": 1.0}, {"x": 1.0, "y": 1.0, "new": 0.0})
    assert (result.difference, result.tasks, result.better, result.worse) == (0.5, 2, 1, 0)
    assert (result.only_a, result.only_b) == (1, 1)
    assert paired({}, {"x": 1.0}).difference is None


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1), min_size=2))
def test_a_run_against_itself_differs_by_nothing(scores):
    result = paired(scores, scores)
    assert result.difference == 0
    assert result.low == -result.high < 0  # a few equal tasks prove little about all tasks


def test_token_cost_counts_answers_that_could_not_be_judged():
    cost = token_cost([Attempt("a", 0, PASS, tokens=100), Attempt("a", 1, Outcome.INFRA, tokens=300)])
    assert (cost.tokens, cost.mean, cost.per_correct) == (400, 200.0, 400.0)
    assert token_cost([]).mean is None


def test_outcomes_are_counted_in_a_fixed_order():
    assert list(outcome_counts(of("a", WRONG, PASS, PASS)).items()) == [("pass", 2), ("wrong", 1)]


def test_average_of_scores_states_its_tasks():
    scores = score_tasks(of("a", PASS) + of("b", WRONG), k=1)
    assert average(scores).tasks == len(scores.values) == 2
