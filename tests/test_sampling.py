"""API sets, the weakness estimate and the frontier reward: a bias here is a curriculum nobody asked for."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.apis import SetDistribution, Statistics, catalogue, in_classes, pool_text, read_pool, sample_sets, statistics
from kzlib.apis.sampler import LAYOUT_DAMPING, SMOOTHING, TEMPERING
from kzlib.frontier import (
    Weakness,
    difficulty_reward,
    frontier_reward,
    r_zero_reward,
    repetition_shares,
    select_frontier,
)
from kzlib.records import Outcome, Task, Verdict
from kzlib.simulation import ScriptedCoder, simulate
from kzlib.weakness import beta_interval

NAMES = [api.name for api in catalogue()]


def chi_square_z(observed: np.ndarray, expected: np.ndarray) -> float:
    """How many standard deviations a chi-square statistic lies above its mean; cells expected under 5 are pooled."""
    big = expected >= 5
    o, e = (np.append(x[big], x[~big].sum()) for x in (observed, expected))
    o, e = o[e > 0], e[e > 0]
    degrees = len(e) - 1
    return float((((o - e) ** 2 / e).sum() - degrees) / math.sqrt(2 * degrees))


# --- the samplers ---------------------------------------------------------------------------------------------------


def test_4000_lists_cover_everything_in_two_seconds():
    sample_sets(10, 0)  # files read
    start = time.process_time()
    sets = sample_sets(4000, seed=3)
    assert time.process_time() - start < 2.0
    assert len(set(sets)) == 4000 and sorted(map(len, sets)) == [2] * 2000 + [3] * 2000
    assert {name for s in sets for name in s} == set(NAMES)


@pytest.mark.parametrize("sampler", ["uniform", "frontier"])
def test_other_samplers_cover_too(sampler):
    sets = sample_sets(4000, 5, sampler, weakness=Weakness())
    assert len(set(sets)) == 4000 and {name for s in sets for name in s} == set(NAMES)


def test_first_api_follows_the_stated_marginal():
    stats = statistics()
    distribution = SetDistribution.cooccurrence(stats)
    # The formula again, written out name by name.
    damping = [LAYOUT_DAMPING if c == "layout" else 1.0 for c in stats.classes]
    stated = [d * (b + 1) ** TEMPERING for d, b in zip(damping, stats.balanced, strict=True)]
    stated = 0.85 * np.array(stated) / sum(stated) + 0.15 / 442
    drawn = distribution.draw(40_000, 2, np.random.default_rng(1))[:, 0]
    assert abs(chi_square_z(np.bincount(drawn, minlength=442), 40_000 * stated)) < 4


@pytest.mark.parametrize("first", ["torch.nn.Conv2d", "torch.einsum", "torch.nn.LPPool3d"])
def test_second_and_third_follow_the_stated_conditionals(first):
    stats = statistics()
    distribution = SetDistribution.cooccurrence(stats)
    i = NAMES.index(first)
    rng = np.random.default_rng(2)
    drawn = distribution.draw(30_000, 3, rng, np.full(30_000, i))
    stated = (stats.pairs[i] + SMOOTHING * distribution.tempered) / (stats.pairs[i].sum() + SMOOTHING)
    stated[i] = 0
    assert abs(chi_square_z(np.bincount(drawn[:, 1], minlength=442), 30_000 * stated / stated.sum())) < 4
    j = int(np.bincount(drawn[:, 1], minlength=442).argmax())
    third = drawn[drawn[:, 1] == j, 2]
    both = (distribution.conditional[i] + distribution.conditional[j]) / 2
    both[[i, j]] = 0
    assert abs(chi_square_z(np.bincount(third, minlength=442), len(third) * both / both.sum())) < 4


def test_uniform_pairs_are_uniform():
    drawn = SetDistribution.uniform(statistics()).draw(50_000, 2, np.random.default_rng(3))
    counts = np.bincount(drawn.ravel(), minlength=442)
    assert abs(chi_square_z(counts, np.full(442, 100_000 / 442))) < 5
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_sampled_pairs_are_real_pairs_and_uniform_ones_are_not():
    stats = statistics()
    index = {name: i for i, name in enumerate(stats.names)}

    def seen(sampler):
        pairs = [s for s in sample_sets(1000, 1, sampler) if len(s) == 2]
        return np.mean([stats.pairs[index[a], index[b]] > 0 for a, b in pairs])

    assert seen("cooccurrence") > 0.8 > 0.4 > seen("uniform")


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 60), st.integers(0, 10**6), st.sampled_from(["cooccurrence", "uniform", "frontier"]),
    st.lists(st.integers(2, 6), min_size=1, max_size=3, unique=True),
)  # fmt: skip
def test_any_request_gives_distinct_sorted_sets_of_the_sizes_asked(n, seed, sampler, sizes):
    allowed = in_classes(["softmax", "scan"])
    sets = sample_sets(n, seed, sampler, sizes, Weakness(), allowed)
    assert len(sets) == len(set(sets)) == n
    assert all(list(s) == sorted(set(s)) and len(s) in sizes and set(s) <= set(allowed) for s in sets)
    assert sets == sample_sets(n, seed, sampler, sizes, Weakness(), allowed)


def test_all_sets_that_exist_can_be_drawn_and_one_more_is_an_error():
    allowed = NAMES[:6]
    assert len(set(sample_sets(15 + 20, 0, allowed=allowed))) == 35
    with pytest.raises(ValueError, match="only 35"):
        sample_sets(36, 0, allowed=allowed)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sample_sets(1, 0, "frontier"), "cooccurrence"),
        (lambda: sample_sets(1, 0, "best"), "type one of"),
        (lambda: sample_sets(1, 0, sizes=(2, 9)), r"\(2, 3\)"),
        (lambda: sample_sets(1, 0, allowed=["torch.reluu"]), "torch.relu"),
    ],
)
def test_bad_requests_say_what_to_type(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_the_pool_splits_and_reads_back(tmp_path):
    sets = sample_sets(10, 0)
    (tmp_path / "p.jsonl").write_text(pool_text(sets, 4))
    assert read_pool(tmp_path / "p.jsonl", "train") == sets[:4]
    assert read_pool(tmp_path / "p.jsonl", "harvest") == sets[4:]
    (tmp_path / "p.jsonl").write_text(json.dumps({"apis": []}) + "\n")
    with pytest.raises(ValueError, match="run notebook 01"):
        read_pool(tmp_path / "p.jsonl", "train")


# --- weakness -------------------------------------------------------------------------------------------------------


def observed(skill: dict[str, float], verdicts: int, seed: int) -> Weakness:
    rng = np.random.default_rng(seed)
    sets = sample_sets(min(verdicts, 300), seed, allowed=list(skill))
    weakness = Weakness()
    for i in range(verdicts):
        apis = sets[i % len(sets)]
        weakness.update(apis, bool(rng.random() < math.prod(skill[a] for a in apis)))
    return weakness


def structured(names: list[str], seed: int) -> dict[str, float]:
    """Skills that differ by operator class, and within it by 8 points."""
    rng = np.random.default_rng(seed)
    classes = {api.name: api.operator_class for api in catalogue()}
    base = {c: rng.uniform(0.35, 0.97) for c in sorted(set(classes.values()))}
    return {name: float(np.clip(base[classes[name]] + rng.normal(0, 0.08), 0.05, 0.99)) for name in names}


@pytest.mark.parametrize("count", [40, 442])
def test_known_skills_are_found_within_ten_points_after_500_verdicts(count):
    errors, rates, inside = [], [], []
    for seed in range(5):
        skill = structured(NAMES[:count], seed)
        weakness = observed(skill, 500, seed)
        estimates = {name: weakness.skill(name) for name in skill}
        errors.append(np.mean([abs(estimates[n].mean - skill[n]) for n in skill]))
        inside.append(np.mean([estimates[n].low <= skill[n] <= estimates[n].high for n in skill]))
        fresh = sample_sets(200, seed + 99, allowed=list(skill))
        rates.append(np.mean([abs(weakness.rate(s) - math.prod(skill[a] for a in s)) for s in fresh]))
    assert np.mean(errors) < 0.10 and np.mean(rates) < 0.10
    assert np.mean(inside) > 0.8, "90 % intervals that hold the truth"


def test_a_bad_pair_of_good_apis_is_blamed_on_the_pair():
    weakness = Weakness()
    for _ in range(40):
        weakness.update(("torch.exp", "torch.abs"), True)
        weakness.update(("torch.sum", "torch.abs"), True)
        weakness.update(("torch.exp", "torch.sum"), False)
    assert weakness.skill("torch.exp").mean > 0.75 and weakness.skill("torch.sum").mean > 0.75
    assert weakness.interaction("torch.exp", "torch.sum").mean < 0.3
    assert weakness.rate(("torch.exp", "torch.sum")) < 0.2 < 0.6 < weakness.rate(("torch.exp", "torch.abs"))


def test_few_observations_stay_in_doubt():
    weakness = Weakness()
    weakness.update(("torch.exp", "torch.sum"), False)
    once = weakness.skill("torch.exp")
    alone = Weakness()
    for _ in range(60):
        weakness.update(("torch.exp", "torch.sum"), False)
        alone.update(("torch.exp",), False)
    assert once.high - once.low > 0.4 and once.mean > 0.3
    # Always with the same partner: who fails is never seen, so more doubt stays than had it failed alone.
    both, single = weakness.skill("torch.exp"), alone.skill("torch.exp")
    assert both.high - both.low > 2 * (single.high - single.low)


def test_evidence_fades_and_is_forgotten():
    weakness = Weakness()
    weakness.update(("torch.exp",), True, count=8)
    weakness.decay(0.5)
    assert weakness.verdicts == 4 and weakness.skill("torch.exp").seen == 4
    for _ in range(10):
        weakness.decay(0.5)
    assert weakness.verdicts == 0 and weakness.skill("torch.exp").mean == Weakness().skill("torch.exp").mean


def test_only_judged_verdicts_count():
    task = Task("x", apis=("torch.exp",))
    rows = [
        Verdict(task.id, str(i), "triton", outcome, "done", "cpu-interpreter", "strict")
        for i, outcome in enumerate((Outcome.PASS, Outcome.WRONG, Outcome.INFRA, Outcome.INVALID_TASK))
    ]
    weakness = Weakness()
    assert weakness.observe(rows, [task]) == 2 and weakness.verdicts == 2


def test_weakness_survives_a_file(tmp_path):
    weakness = observed(structured(NAMES[:20], 1), 200, 1)
    weakness.decay()
    weakness.save(tmp_path / "w.json")
    again = Weakness.load(tmp_path / "w.json")
    assert again.rate(NAMES[:3]) == pytest.approx(weakness.rate(NAMES[:3]))
    (tmp_path / "w.json").write_text("[]")
    with pytest.raises(ValueError, match="not a weakness file"):
        Weakness.load(tmp_path / "w.json")


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.5, 3), (40, 2), (300, 300)])
def test_beta_intervals_agree_with_draws(a, b):
    low, high = np.quantile(np.random.default_rng(0).beta(a, b, 200_000), (0.05, 0.95))
    assert beta_interval(a, b) == pytest.approx((low, high), abs=0.01)


def test_the_frontier_sampler_stays_where_cooccurrence_drifts_out():
    for seed in (0, 1, 2):
        frontier, plain = simulate("frontier", seed), simulate("cooccurrence", seed)
        assert all(0.35 <= p <= 0.65 for p in frontier.solved), frontier.solved
        assert not all(0.35 <= p <= 0.65 for p in plain.solved), plain.solved


def test_the_frontier_moves_to_what_is_still_hard():
    coder = ScriptedCoder.typical(4)
    start = dict(coder.skill)
    found = simulate("frontier", 4, rounds=12, coder=coder)
    early, late = found.sets[1], found.sets[-1]
    easy = {name for name in start if start[name] > 0.85}
    assert sum(name in easy for s in late for name in s) < sum(name in easy for s in early for name in s)


# --- the reward -----------------------------------------------------------------------------------------------------


@given(st.floats(0, 1), st.booleans(), st.floats(-5, -1e-3))
def test_the_frontier_reward_is_bounded_and_symmetric(p, valid, rho):
    reward = frontier_reward(p, valid, rho)
    assert reward == rho if not valid else 0 <= reward <= 1
    assert frontier_reward(1 - p, True) == pytest.approx(frontier_reward(p, True), abs=1e-12)
    assert frontier_reward(p, True, rho) >= 0 > frontier_reward(p, False, rho)


@given(st.floats(0, 1))
def test_r_zero_is_half_the_frontier_reward_less_repetition(p):
    assert r_zero_reward(p, True, 0.25) == pytest.approx(frontier_reward(p, True) / 2 - 0.25)
    assert difficulty_reward(p, True) == (1 - p if p > 0 else 0)


@pytest.mark.parametrize("p", [float("nan"), -0.1, 1.1])
def test_a_rate_that_is_none_is_an_error(p):
    for reward in (frontier_reward, difficulty_reward):
        with pytest.raises(ValueError, match="leave out"):
            reward(p, True)
    assert frontier_reward(p, False) == -1.0


def test_rho_must_cost():
    with pytest.raises(ValueError, match="below 0"):
        frontier_reward(0.5, False, 0.0)


def test_hundred_near_copies_share_the_penalty():
    assert set(repetition_shares(["a"] * 100)) == {1.0}
    assert repetition_shares([]) == []


@pytest.mark.parametrize(
    ("rates", "kept", "reason"),
    [
        ({f"t{i}": 0.0 for i in range(5)}, 1, "too hard"),
        ({f"t{i}": 1.0 for i in range(5)}, 1, "too easy"),
        ({"a": 0.0, "b": 1.0}, 1, "too hard or too easy"),
        ({"a": 0.5}, 1, "band opened"),
        ({}, 0, "no task"),
        ({"a": 0.05, "b": 0.95, "c": 0.0}, 2, "band opened"),
        ({f"t{i}": 0.5 for i in range(5)}, 4, "5 of 5"),
    ],
)
def test_batches_without_a_frontier_end_and_say_why(rates, kept, reason):
    found = select_frontier(rates, wanted=4)
    assert len(found.ids) == kept and reason in found.reason


def test_a_statistics_object_of_ones_own_works():
    small = Statistics(
        tuple(NAMES[:3]), ("matmul", "layout", "layout"), np.array([3.0, 2, 1]),
        np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0.0]]), np.array([3.0, 2, 1]),
    )  # fmt: skip
    assert len(sample_sets(3, 0, sizes=(2,), stats=small)) == 3
