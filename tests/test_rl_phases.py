"""Phases of co-evolution on tiny models. If these break, a resumed or many-process run trains another policy."""

from __future__ import annotations

import copy
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rl_doubles import check, judge, readable, tasks, tiny

from kzlib import ca_grpo, coevolution, decoding, evaluation, policy, rewards
from kzlib.ca_grpo import CAGRPO, advantages, as_groups, reward
from kzlib.coevolution import GroupSettings, coder_phase, draw, harvest, pool_of, proposer_phase, records_of
from kzlib.packing import pulling
from kzlib.records import Answer, Task, Verdict
from kzlib.rewards import Attempts, CoderReward, ModuleCheck, ProposerReward
from kzlib.training import TimeIsUpError, read_steps

SETTINGS = GroupSettings(
    steps=4, prompts_per_step=2, group_size=4, micro_batch=4, learning_rate=1e-2, max_new_tokens=6, save_every=2, seed=3
)


@pytest.fixture(autouse=True)
def every_text_is_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "extract", readable)
    monkeypatch.setattr(rewards, "extract", readable)


def coder_run(
    folder: Path, settings: GroupSettings = SETTINGS, steps: int | None = None, **extra: Any
) -> tuple[Any, list]:
    model, tokenizer = tiny()
    pool = tasks()
    scored = CoderReward({t.id: t for t in pool}, judge, tokenizer.eos_token_id)
    settings = replace(settings, steps=steps) if steps else settings
    rows = coder_phase(model, tokenizer, pool, {}, scored, settings, folder, CAGRPO(alpha=0.25), **extra)
    return model, rows


def exact(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without clocks."""
    return [{k: v for k, v in row.items() if not k.startswith("seconds/")} for row in rows]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, list]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "extract", readable)
        folder = tmp_path_factory.mktemp("whole")
        model, rows = coder_run(folder)
    return folder, policy.fingerprint(model), rows


def test_steps_are_logged_with_everything_a_reader_asks_for(whole: tuple[Path, str, list]) -> None:
    _, _, rows = whole
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    for row in rows:
        assert sum(row["outcomes"].values()) == row["answers"] == 8
        shares = [row[f"groups/{k}"] for k in ("all_fail", "all_pass", "gate_open", "unjudged", "accuracy")]
        assert all(0 <= x <= 1 for x in shares)
        assert {"grad_norm", "cut_off", "tokens", "reward/correct", "reward/speed", "entropy", "pass@1/triton"} <= set(
            row
        )
        assert all(row[f"seconds/{k}"] >= 0 for k in ("generate", "verify", "train"))
    assert any(row["grad_norm"] > 0 for row in rows)


def test_rollouts_hold_the_formulas_numbers(whole: tuple[Path, str, list]) -> None:
    rollouts = read_steps(whole[0] / "rollouts.jsonl")
    assert len(rollouts) == 4 * 8
    judged = {"pass": 1.0, "wrong": 0.0, "compile_fail": 0.0, "infra": None}
    c = as_groups([judged[row["outcome"]] for row in rollouts], 4)
    S = as_groups([row["speedup"] for row in rollouts], 4)
    r = reward(c, S, alpha=0.25)
    for row, value, advantage in zip(rollouts, r.flatten().tolist(), advantages(r).flatten().tolist(), strict=True):
        if row["reward"] is None:
            assert math.isnan(value)
        else:
            assert row["reward"] == pytest.approx(value, rel=1e-6)
        assert row["advantage"] == pytest.approx(advantage, abs=1e-4)


def test_rows_without_an_advantage_and_padding_are_left_out_and_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, (cut,) = coder_run(tmp_path / "cut", steps=1)
    rows: list[int] = []

    def uncut(batch: dict[str, Any]) -> dict[str, Any]:
        rows.append(len(pulling(batch)["advantages"]))
        return batch

    monkeypatch.setattr(ca_grpo, "pulling", uncut)
    _, (whole,) = coder_run(tmp_path / "whole", steps=1)
    assert cut["grad_norm"] == pytest.approx(whole["grad_norm"], rel=1e-5)
    assert cut["loss"] == pytest.approx(whole["loss"], abs=1e-6)
    advantages = [row["advantage"] for row in read_steps(tmp_path / "cut" / "rollouts.jsonl")]
    assert sum(rows) == sum(a != 0 for a in advantages) < whole["answers"]


def test_killed_and_resumed_equals_uninterrupted(whole: tuple[Path, str, list], tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(row: dict[str, Any]) -> None:
        if row["step"] == 3:
            raise KilledError

    with pytest.raises(KilledError):
        coder_run(tmp_path, on_step=kill)
    assert [row["step"] for row in read_steps(tmp_path / "steps.jsonl")] == [1, 2, 3]
    model, rows = coder_run(tmp_path)
    assert exact(rows) == exact(whole[2])
    assert policy.fingerprint(model) == whole[1]
    rollouts = [exact([row]) for row in read_steps(tmp_path / "rollouts.jsonl")]
    assert rollouts == [exact([row]) for row in read_steps(whole[0] / "rollouts.jsonl")]


def test_stopped_by_the_clock_saves_its_step_and_goes_on_exactly(
    whole: tuple[Path, str, list], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KZ_STOP_AT", str(time.time()))
    for step in (1, 2, 3):
        with pytest.raises(TimeIsUpError, match=f"saved at step {step}"):
            coder_run(tmp_path)
    model, rows = coder_run(tmp_path)  # the last step ends the phase: nothing is left to stop
    assert exact(rows) == exact(whole[2])
    assert policy.fingerprint(model) == whole[1]


def test_another_seed_samples_other_answers(whole: tuple[Path, str, list], tmp_path: Path) -> None:
    coder_run(tmp_path, replace(SETTINGS, seed=4), steps=1)
    texts = [row["answer"]["text"] for row in read_steps(tmp_path / "rollouts.jsonl")]
    first = [row["answer"]["text"] for row in read_steps(whole[0] / "rollouts.jsonl") if row["step"] == 1]
    assert texts != first


def test_one_and_two_processes_give_the_same_rewards_and_advantages(tmp_path: Path) -> None:
    """One group of 8 over two processes of 4 answers each: the group is cut."""
    found = {}
    for processes in (1, 2):
        out = tmp_path / f"{processes}.json"
        # torch's launcher is what `accelerate launch` starts on several devices; on CPUs alone it starts one process.
        command = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes),
            str(Path(__file__).with_name("rl_two_processes.py")), str(out),
        ]  # fmt: skip
        here = Path(__file__).parent
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parent)]), "OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, capture_output=True, text=True, timeout=240, env=env)
        assert run.returncode == 0, run.stderr[-3000:]
        found[processes] = json.loads(out.read_text())
    assert found[1]["rewards"] == pytest.approx(found[2]["rewards"], nan_ok=True)
    assert found[1]["advantages"] == pytest.approx(found[2]["advantages"])
    assert found[2]["local"] == [4, 4]
    assert any(a != 0 for a in found[1]["advantages"])


def test_every_answer_cut_off_is_counted_and_finite(tmp_path: Path) -> None:
    _, rows = coder_run(tmp_path, replace(SETTINGS, max_new_tokens=1), steps=1)
    assert rows[0]["cut_off"] > 0.5  # one token is hardly ever the end token
    assert math.isfinite(rows[0]["loss"])
    assert math.isfinite(rows[0]["grad_norm"])


def test_a_step_that_our_machine_failed_on_stops_the_run(tmp_path: Path) -> None:
    def broken(tasks: list[Task], candidates: list, protocol: str) -> Iterator[Verdict]:
        for verdict in judge(tasks, candidates, protocol):
            yield replace(verdict, outcome=rewards.Outcome.INFRA, message="the card is gone", timing=None)

    model, tokenizer = tiny()
    pool = tasks()
    scored = CoderReward({t.id: t for t in pool}, broken, tokenizer.eos_token_id)
    with pytest.raises(RuntimeError, match=r"could not be judged.*infra, the card is gone"):
        coder_phase(model, tokenizer, pool, {}, scored, SETTINGS, tmp_path, CAGRPO())


@pytest.mark.parametrize(
    ("change", "message"), [({"group_size": 1}, "two answers or more"), ({"processes": 7}, "micro_batch 1")]
)
def test_batches_that_do_not_split_are_refused_with_two_that_work(change: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        coevolution.trainer_arguments(replace(SETTINGS, **change), tmp_path)


def test_a_copy_that_samples_has_the_trained_weights_at_every_step(
    whole: tuple[Path, str, list], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P26: as on a GPU, where a bf16 copy samples. Left at old weights, it would write other answers from step 2 on."""
    monkeypatch.setattr(decoding, "sampler_of", copy.deepcopy)
    model, rows = coder_run(tmp_path)
    assert exact(rows) == exact(whole[2])
    assert policy.fingerprint(model) == whole[1]


def test_vllm_shares_the_card_or_is_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = replace(SETTINGS, engine="vllm")
    assert coevolution.trainer_arguments(settings, tmp_path).vllm_mode == "colocate"
    monkeypatch.setenv("KZ_VLLM_SERVER", "http://host:8000")
    served = coevolution.trainer_arguments(settings, tmp_path)
    assert (served.vllm_mode, served.vllm_server_base_url) == ("server", "http://host:8000")


def proposer_reward(solve: Any = None, check: Any = check, **changes: Any) -> ProposerReward:
    coder, tokenizer = tiny(seed=1)
    solve = solve or coevolution.solver(coder, tokenizer, "triton", "compact", 6, 1.0, 3)
    return ProposerReward(check, solve, judge, tokenizer.eos_token_id, k=4, **changes)


SETS = [("torch.relu", "torch.exp"), ("torch.exp", "torch.sum"), ("torch.sum", "torch.relu")]


def test_proposer_phase_pays_the_frontier_and_leaves_the_coder_alone(tmp_path: Path) -> None:
    proposer, tokenizer = tiny()
    coder, _ = tiny(seed=1)
    before = policy.fingerprint(coder)
    solve = coevolution.solver(coder, tokenizer, "triton", "compact", 6, 1.0, 3)
    scored = proposer_reward(solve)
    rows = proposer_phase(proposer, tokenizer, SETS, scored, replace(SETTINGS, steps=2), tmp_path)
    assert policy.fingerprint(coder) == before
    assert len(rows) == 2
    assert all(row["seconds/solve"] > 0 and row["seconds/verify"] >= 0 and row["coder_tokens"] > 0 for row in rows)
    assert all(0 <= row["validity"] <= 1 and -1 <= row["frontier_reward"] <= 1 for row in rows)
    for row in read_steps(tmp_path / "rollouts.jsonl"):
        if row["valid"]:
            assert row["reward"] == pytest.approx(1 - 2 * abs(row["p"] - 0.5)) if row["p"] is not None else True
            assert len(row["coder_verdicts"]) == 4
        else:
            assert row["reward"] == -1


def test_all_modules_of_a_step_are_solved_in_one_call() -> None:
    calls = []

    def solve(modules: list[Task], k: int) -> list[list[policy.Generation]]:
        calls.append(len(modules))
        return [[policy.Generation(f"{t.id}{i}", 3, "stop") for i in range(k)] for t in modules]

    scored = proposer_reward(solve, check=lambda ts, sets: [ModuleCheck(True, "ok") for _ in ts])
    texts = [policy.Generation(f"class Model: {i % 5}", 4, "stop") for i in range(9)]
    scored.score_texts(texts, [SETS[0]] * 9)
    assert calls == [5]  # nine proposals, five different modules, one batch


def test_p_leaves_out_what_was_not_judged_and_a_module_without_judgement_earns_nothing() -> None:
    def verdict(outcome: str) -> Verdict:
        return Verdict("t", "c", "triton", rewards.Outcome(outcome), "done", "cpu-interpreter", "strict")

    task = tasks(1)[0]
    outcomes = ["pass", "infra", "wrong", "infra"]
    attempts = Attempts(task, (), tuple(verdict(o) for o in outcomes))
    assert attempts.p == 0.5
    scored = proposer_reward()
    assert scored.score(ModuleCheck(True, "ok"), attempts) == 1.0
    assert scored.score(ModuleCheck(True, "ok"), Attempts(task, (), (verdict("infra"),))) is None
    assert scored.score(ModuleCheck(None, "infra"), None) is None
    assert scored.score(ModuleCheck(False, "runs"), None) == -1.0
    scored.frontier = False
    assert scored.score(ModuleCheck(True, "ok"), attempts) == 1.0


def test_harvest_is_bounded_resumable_and_keeps_everything(tmp_path: Path) -> None:
    proposer, tokenizer = tiny()
    sets = [("torch.relu", f"torch.{i}") for i in range(20)]
    arguments: dict[str, Any] = {"wanted": 6, "settings": SETTINGS, "batch": 4, "tries": 3}
    rows = harvest(proposer, tokenizer, sets, proposer_reward(), folder=tmp_path / "a", **arguments)
    pool, rates = pool_of(rows)
    assert len({t.id for t in pool}) == len(pool) <= 6 + 3
    assert set(rates) <= {t.id for t in pool}
    kinds = {type(record) for record in records_of(rows)}
    assert kinds == {Task, Answer, Verdict}

    class KilledError(Exception):
        pass

    def kill(valid: int, wanted: int) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        harvest(proposer, tokenizer, sets, proposer_reward(), folder=tmp_path / "b", on_batch=kill, **arguments)
    assert harvest(proposer, tokenizer, sets, proposer_reward(), folder=tmp_path / "b", **arguments) == rows


def test_harvest_ends_when_nothing_is_ever_valid(tmp_path: Path) -> None:
    proposer, tokenizer = tiny()
    never = proposer_reward(check=lambda ts, sets: [ModuleCheck(False, "runs") for _ in ts])
    rows = harvest(proposer, tokenizer, SETS, never, 8, SETTINGS, tmp_path, batch=2, tries=2)
    assert len(rows) == len(SETS)
    with pytest.raises(ValueError, match="nothing to draw from"):
        draw(pool_of(rows)[0], 4, seed=0)


def test_modules_solved_now_and_then_come_first_and_a_short_pool_goes_round() -> None:
    pool = list("abcde")

    def drawn(wanted: int, passes: int = 1) -> list[str]:
        return draw(pool, wanted, 5, lambda x: x in "cd", passes)

    assert sorted(drawn(2)) == ["c", "d"]
    assert sorted(drawn(7)) == list("abccdde")
    assert sorted(drawn(6, passes=3)) == list("cccddd")
    assert drawn(7) == drawn(7)
    assert drawn(40, passes=3) != sorted(drawn(40, passes=3), key=lambda x: x not in "cd")  # mixed over the steps


def test_zero_steps_leaves_the_weights(tmp_path: Path) -> None:
    model, tokenizer = tiny()
    before = policy.fingerprint(model)
    rows = proposer_phase(model, tokenizer, SETS, proposer_reward(), replace(SETTINGS, steps=0), tmp_path)
    assert rows == []
    assert (tmp_path / "rollouts.jsonl").exists()
    assert policy.fingerprint(model) == before


def test_flat_groups_move_nothing_without_kl(tmp_path: Path) -> None:
    """P22: all answers wrong, KL weight 0: no gradient at all, and the share of all-fail groups says why."""

    def wrong(tasks: list[Task], candidates: list, protocol: str) -> Iterator[Verdict]:
        for verdict in judge(tasks, candidates, protocol):
            yield replace(verdict, outcome=rewards.Outcome.WRONG, timing=None)

    model, tokenizer = tiny()
    pool = tasks()
    scored = CoderReward({t.id: t for t in pool}, wrong, tokenizer.eos_token_id)
    rows = coder_phase(model, tokenizer, pool, {}, scored, replace(SETTINGS, steps=1), tmp_path, CAGRPO())
    assert rows[0]["groups/all_fail"] == 1
    assert rows[0]["grad_norm"] == 0
    assert torch.isfinite(next(model.parameters())).all()
