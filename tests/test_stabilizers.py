"""MusaCoder's stabilisers against slow loops. If these break, a stabiliser changes rewards it should not touch."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rl_doubles import judge, readable, tasks, tiny

from kzlib import evaluation, policy
from kzlib.ca_grpo import CAGRPO
from kzlib.coevolution import GroupSettings, coder_phase, stabilized
from kzlib.records import Candidate, Outcome, Task, Timing, Verdict
from kzlib.rewards import CoderReward
from kzlib.stabilizers import Echo, EchoReward, Failure, Ladder, RetryBuffer, ladder, mirror_pop, prime_echo, rung
from kzlib.training import TimeIsUpError, read_steps

SETTINGS = GroupSettings(
    steps=4, prompts_per_step=2, group_size=4, micro_batch=4, learning_rate=1e-2, max_new_tokens=6, save_every=2, seed=3
)


@pytest.fixture(autouse=True)
def every_text_is_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "extract", readable)


def slow_mirror_pop(ratios: list[list[float]], masks: list[list[int]], delta: float) -> list[float]:
    kept = []
    for ratio, mask in zip(ratios, masks, strict=True):
        sizes = [abs(x) for x, m in zip(ratio, mask, strict=True) if m]
        kept.append(1.0 if not sizes or sum(sizes) / len(sizes) <= delta else 0.0)
    return kept


rows = st.lists(
    st.lists(st.tuples(st.floats(-2, 2), st.integers(0, 1)), min_size=5, max_size=5), min_size=1, max_size=6
)


@given(rows, st.floats(0.01, 1.5))
@settings(max_examples=100, deadline=None)
def test_mirror_pop_matches_a_slow_loop(batch: list, delta: float) -> None:
    ratios = [[x for x, _ in row] for row in batch]
    masks = [[m for _, m in row] for row in batch]
    got = mirror_pop(torch.tensor(ratios, dtype=torch.float64), torch.tensor(masks, dtype=torch.float64), delta)
    sure = [abs(sum(abs(x) * m for x, m in row) / max(1, sum(m for _, m in row)) - delta) > 1e-9 for row in batch]
    for a, b, clear in zip(got.flatten().tolist(), slow_mirror_pop(ratios, masks, delta), sure, strict=True):
        assert a == b or not clear


def test_mirror_pop_sees_drift_that_a_signed_mean_cancels() -> None:
    drift = torch.tensor([[0.5, -0.5, 0.5, -0.5]])
    assert drift.mean() == 0
    assert mirror_pop(drift, torch.ones(1, 4), delta=0.1).item() == 0


def slow_echo(scores: list[float], passed: list[bool], alpha: float, bonus: tuple[float, ...]) -> float:
    best = scores[0]
    for s in scores:
        best = s if s > best else best
    total = alpha * scores[0] + (1 - alpha) * best
    for turn in range(len(passed)):
        if passed[turn]:
            return total + (bonus[turn] if turn < len(bonus) else 0.0)
    return total


@given(st.lists(st.tuples(st.floats(-1, 3), st.booleans()), min_size=1, max_size=3))
@settings(max_examples=100, deadline=None)
def test_prime_echo_matches_a_slow_loop(turns: list[tuple[float, bool]]) -> None:
    scores, passed = [s for s, _ in turns], [ok for _, ok in turns]
    assert prime_echo(scores, passed) == pytest.approx(slow_echo(scores, passed, 0.75, (0.15, 0.08)))


def test_a_first_turn_that_passes_beats_any_repair() -> None:
    assert prime_echo([1.0], [True]) > prime_echo([-1.0, 3.0], [False, True])


@given(st.floats(0, 1), st.floats(0, 20))
@settings(max_examples=100, deadline=None)
def test_ladder_is_ordered_and_bounded(q: float, speed: float) -> None:
    value = ladder(q, speed)
    if q == 0:
        assert value == -1
    elif q < 1:
        assert -0.5 <= value <= 0
    else:
        assert 1 <= value <= 1 + Ladder().speed_weight * Ladder().speed_cap


def verdict(outcome: Outcome, speed: float | None = None, **evidence: Any) -> Verdict:
    timing = Timing(1, speed, speed, "modelled", 1, 0.0) if speed is not None else None
    return Verdict("t", "c", "triton", outcome, "done", "cpu-interpreter", "strict", evidence=evidence, timing=timing)


def test_rungs_of_verdicts() -> None:
    assert rung(verdict(Outcome.PASS, 3.0)) == 2.0
    assert rung(verdict(Outcome.PASS)) == 1.0
    assert rung(verdict(Outcome.WRONG)) == -1.0
    assert rung(verdict(Outcome.WRONG, inputs_tried=4, inputs_passed=2)) == -0.25
    assert rung(verdict(Outcome.CHEAT, inputs_tried=4, inputs_passed=4)) == -1  # right values, not honest work
    assert rung(verdict(Outcome.INFRA)) is None


def test_retry_buffer_forgets_the_oldest_and_draws_by_seed_alone() -> None:
    buffer = RetryBuffer(capacity=2, probability=0.5, seed=1)
    for name in "abc":
        buffer.push(Failure({"prompt": name}, "code", "error"))
    assert [f.row["prompt"] for f in buffer.failures] == ["b", "c"]
    other = RetryBuffer(capacity=2, probability=0.5, seed=1)
    other.restore(buffer.state())
    assert [buffer.take(step, 0) for step in range(6)] == [other.take(step, 0) for step in range(6)]
    never = RetryBuffer(probability=0.0)
    never.push(Failure({}, "", ""))
    assert all(never.take(step, 0) is None for step in range(50))


def run(folder: Path, names: list[str], judging: Any = judge, **changes: Any) -> tuple[Any, list]:
    model, tokenizer = tiny()
    pool = tasks()
    reward = CoderReward({t.id: t for t in pool}, judging, tokenizer.eos_token_id)
    tokens = replace(SETTINGS, **changes)
    return model, coder_phase(model, tokenizer, pool, {}, reward, tokens, folder, CAGRPO(), stabilizers=names)


def all_wrong(tasks: list[Task], candidates: list[Candidate], protocol: str) -> Iterator[Verdict]:
    for v in judge(tasks, candidates, protocol):
        yield replace(v, outcome=Outcome.WRONG, timing=None, message="boom")


def test_all_failed_prompts_come_back_with_their_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryBuffer.__init__, "__defaults__", (64, 1.0, 0))
    _, steps = run(tmp_path, ["dynamic_retry"], all_wrong)
    assert [row["retry/replayed"] for row in steps][:2] == [0, 2]
    assert steps[0]["retry/waiting"] == 2
    assert steps[1]["retry/waiting"] == 0  # a replay that fails again does not come back a second time


def test_retry_and_resume_give_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryBuffer.__init__, "__defaults__", (64, 0.5, 0))
    whole, _ = run(tmp_path / "a", ["dynamic_retry"])
    with monkeypatch.context() as clock:
        clock.setenv("KZ_STOP_AT", str(time.time()))
        for step in (1, 2):
            with pytest.raises(TimeIsUpError, match=f"saved at step {step}"):
                run(tmp_path / "b", ["dynamic_retry"])
    again, _ = run(tmp_path / "b", ["dynamic_retry"])
    assert policy.fingerprint(whole) == policy.fingerprint(again)


def test_prime_echo_plays_turns_and_trains_on_the_first(tmp_path: Path) -> None:
    _, steps = run(tmp_path, ["prime_echo"], steps=2)
    rollouts = read_steps(tmp_path / "rollouts.jsonl")
    assert len(rollouts) == 16
    assert {row["turns"] for row in rollouts} > {1}
    for row in rollouts:
        if row["outcome"] == "pass":
            assert row["turns"] == 1  # stops at the first pass
            assert row["reward"] == pytest.approx(rung_of(row) + 0.15)
        if row["outcome"] in ("wrong", "compile_fail") and row["turns"] == 3 and row["reward"] is not None:
            assert row["reward"] <= 0.75 * -1 + 0.25 * 3 + 0.08
        assert row["answer"]["tokens"] <= SETTINGS.max_new_tokens  # the first answer alone
    assert all(math.isfinite(row["grad_norm"]) for row in steps)


def rung_of(row: dict[str, Any]) -> float:
    return ladder(1.0, row["speedup"])


def test_echo_counts_what_could_be_judged() -> None:
    reward = EchoReward(CoderReward({}, judge, 0), Echo())
    lost, wrong, right = verdict(Outcome.INFRA), verdict(Outcome.WRONG), verdict(Outcome.PASS, 1.0)
    assert reward.score([lost, right]) is None
    assert reward.score([wrong, lost]) == reward.score([wrong])
    assert reward.score([wrong, right]) == pytest.approx(0.75 * -1 + 0.25 * 1 + 0.08)


def test_mirror_pop_and_ladder_train(tmp_path: Path) -> None:
    _, steps = run(tmp_path, ["mirror_pop", "ladder"], steps=3)
    assert len(steps) == 3
    assert all(math.isfinite(row["loss"]) for row in steps)
    assert {row["turns"] for row in read_steps(tmp_path / "rollouts.jsonl")} == {1}


def test_a_name_that_is_no_stabiliser_is_refused() -> None:
    reward = CoderReward({}, judge, 0)
    with pytest.raises(ValueError, match="no stabiliser is called echo"):
        stabilized(["echo"], reward, CAGRPO(), SETTINGS, "compact")
