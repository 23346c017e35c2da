"""CA-GRPO's formula. If these break, the Coder is trained on another objective than the paper's."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.ca_grpo import CAGRPO, advantages, as_groups, gate, group_counts, reward, speed_term


def slow_rewards(c: list[float | None], S: list[float], alpha: float, beta: float) -> list[float | None]:
    """The paper's formula, one group, in plain loops."""
    judged = [x for x in c if x is not None]
    T = 1 if judged and sum(judged) / len(judged) >= alpha else 0
    return [None if x is None else x * (1 + T * beta * s) for x, s in zip(c, S, strict=True)]


def slow_advantages(r: list[float | None], epsilon: float = 1e-6) -> list[float]:
    judged = [x for x in r if x is not None]
    if len(judged) < 2 or max(judged) - min(judged) < 1e-6:
        return [0.0] * len(r)
    mean, std = statistics.fmean(judged), statistics.pstdev(judged)
    return [0.0 if x is None else (x - mean) / (std + epsilon) for x in r]


def flat(t: torch.Tensor) -> list[float]:
    return t.flatten().tolist()


answers = st.lists(st.tuples(st.sampled_from([0.0, 1.0, None]), st.floats(0, 50)), min_size=1, max_size=16)


@given(answers, st.sampled_from([0.0, 0.5, 0.9, 1.1]), st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=200, deadline=None)
def test_matches_a_slow_loop(group: list[tuple[float | None, float]], alpha: float, beta: float) -> None:
    c, S = [x for x, _ in group], [s for _, s in group]
    got = reward(as_groups(c, len(c)), as_groups(S, len(c)), alpha, beta)
    wanted = slow_rewards(c, S, alpha, beta)
    for a, b in zip(flat(got), wanted, strict=True):
        assert math.isnan(a) if b is None else a == pytest.approx(b, abs=1e-9)
    assert flat(advantages(got)) == pytest.approx(slow_advantages(wanted), abs=2e-2)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=16))
@settings(max_examples=200, deadline=None)
def test_nearly_equal_float32_rewards_stay_finite(last_digits: list[int]) -> None:
    a = advantages(1 + torch.tensor([last_digits], dtype=torch.float32) * 2.0**-23)
    assert torch.isfinite(a).all()
    assert a.abs().max() < 1  # the last digits of a float are no lesson


@given(
    st.lists(st.sampled_from([0.0, 1.0, None]), min_size=8, max_size=8),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=8, max_size=8),
    st.sampled_from(["plain", "capped", "log"]),
    st.sampled_from(["group", "mean_only"]),
    st.sampled_from([0.0, 0.2]),
)
@settings(max_examples=200, deadline=None)
def test_no_speed_and_no_group_makes_nan(c: list, S: list, speed: str, norm: str, floor: float) -> None:
    objective = CAGRPO(speed=speed, noise_floor=floor, normalisation=norm)  # type: ignore[arg-type]
    S = [s if not (math.isfinite(s) and abs(s) > 1e6) else 1e6 for s in S]
    r = reward(as_groups(c, 8), torch.tensor([S], dtype=torch.float64), objective=objective)
    assert torch.isfinite(r[~torch.isnan(as_groups(c, 8))]).all()
    assert torch.isfinite(advantages(r, norm)).all()  # type: ignore[arg-type]


def test_gate_opens_at_alpha_itself() -> None:
    c = as_groups([1, 1, 0, 0], 4)
    assert gate(c, 0.5).all()
    assert not gate(c, 0.51).any()
    assert gate(as_groups([1] * 9 + [0], 10), 0.9).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0])
def test_an_all_correct_group_has_the_gate_open_for_every_alpha_up_to_one(alpha: float) -> None:
    c, S = as_groups([1] * 4, 4), as_groups([1, 2, 3, 4], 4)
    assert torch.equal(reward(c, S, alpha), reward(c, S, 0.0))
    assert not gate(c, 1.1).any()


def test_alpha_1_1_gives_an_all_correct_group_nothing_to_learn() -> None:
    r = reward(as_groups([1] * 4, 4), as_groups([1, 2, 3, 4], 4), alpha=1.1)
    assert flat(advantages(r)) == [0, 0, 0, 0]


def test_a_lone_correct_answer_scores_the_same_with_the_gate_open_or_shut() -> None:
    c, S = as_groups([1, 0, 0, 0, 0, 0, 0, 0], 8), as_groups([5] + [0] * 7, 8)
    opened, shut = advantages(reward(c, S, 0.0)), advantages(reward(c, S, 1.1))
    assert flat(opened) == pytest.approx(flat(shut), abs=1e-3)


def test_hand_computed_tilt_of_beta() -> None:
    # 8 answers, two correct with S = 0.5 and 3: rewards 1.05 and 1.30, z 1.48 and 1.96; with the gate shut both 1.73.
    c, S = as_groups([1, 1, 0, 0, 0, 0, 0, 0], 8), as_groups([0.5, 3] + [0] * 6, 8)
    opened = reward(c, S, alpha=0.0)
    assert flat(opened)[:2] == pytest.approx([1.05, 1.30])
    assert flat(advantages(opened))[:2] == pytest.approx([1.48, 1.96], abs=0.005)
    assert flat(advantages(reward(c, S, alpha=0.5)))[:2] == pytest.approx([1.73, 1.73], abs=0.005)


def test_beta_cancels_in_an_all_correct_group_under_std_but_not_under_the_mean() -> None:
    c, S = as_groups([1] * 4, 4), as_groups([1.0, 1.5, 2.0, 4.0], 4)
    small, large = reward(c, S, beta=0.1), reward(c, S, beta=1.0)
    assert flat(advantages(small)) == pytest.approx(flat(advantages(large)), abs=5e-3)
    assert flat(advantages(large, "mean_only")) == pytest.approx([10 * a for a in flat(advantages(small, "mean_only"))])


def test_speed_never_lifts_a_wrong_answer_and_a_slow_correct_one_earns_over_one() -> None:
    r = flat(reward(as_groups([0, 1], 2), as_groups([100.0, 0.01], 2)))
    assert r[0] == 0
    assert r[1] > 1


def test_speed_variants_by_hand() -> None:
    c, S = torch.ones(1, 3), torch.tensor([[1.0, 3.0, 7.0]])
    assert flat(speed_term(S, c, CAGRPO(speed="capped"))) == [1, 3, 3]
    assert flat(speed_term(S, c, CAGRPO(speed="log"))) == [1, 2, 3]
    near = torch.tensor([[1.00, 1.02, 1.01]])
    assert flat(speed_term(near, c, CAGRPO(noise_floor=0.05))) == [0, 0, 0]
    assert flat(speed_term(S, c, CAGRPO(noise_floor=0.05))) == [1, 3, 7]


def test_answers_we_failed_to_judge_change_nothing_for_the_others() -> None:
    # P29: our machine failed on two of eight; the six others must score as a group of six.
    c6, S6 = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0], [1.0, 2.0, 0, 0, 4.0, 0]
    six = flat(advantages(reward(as_groups(c6, 6), as_groups(S6, 6))))
    eight = flat(advantages(reward(as_groups([None, *c6, None], 8), as_groups([None, *S6, None], 8))))
    assert eight == pytest.approx([0, *six, 0])


@pytest.mark.parametrize("c", [[0, 0, 0, 0], [1, None, None, None], [None] * 4, [1, 1, 1, 1]])
def test_groups_without_spread_are_finite_and_counted(c: list[float | None]) -> None:
    groups = as_groups(c, 4)
    assert flat(advantages(reward(groups, torch.ones(1, 4)))) == [0, 0, 0, 0]
    counts = group_counts(groups, 0.5)
    assert counts["groups/all_fail"] == float(c == [0, 0, 0, 0])
    assert counts["groups/unjudged"] == float(c == [None] * 4)
    assert all(math.isfinite(v) for v in counts.values())


def test_histogram_puts_every_judged_group_in_one_bin() -> None:
    counts = group_counts(as_groups([0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1], 4), 0.5)
    assert [counts[f"groups/accuracy_{k}_{k + 20}"] for k in range(0, 100, 20)] == [0.25, 0.25, 0.25, 0, 0.25]


def test_a_cut_group_is_refused() -> None:
    with pytest.raises(ValueError, match="whole groups of 4"):
        as_groups([1, 0, 1], 4)
