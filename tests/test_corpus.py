"""The cold-start corpus. If these break, a model learns kernels nobody judged, or the modules it is examined on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from rl_doubles import judge, readable, tasks, tiny

from kzlib import corpus, evaluation, heldout_check, rewards
from kzlib.heldout_check import Sampling, Share
from kzlib.records import Candidate, Outcome, Task, Verdict
from kzlib.rewards import Judging, ModuleCheck, coder_summary, module_checks, proposer_summary
from kzlib.tasks import load_tasks
from kzlib.training import read_steps

MODULE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.{op}(x, dim={dim})


def get_inputs():
    return [torch.randn({n}, 8, 3)]


def get_init_inputs():
    return []
"""
OPS = ("sum", "amax", "amin", "mean", "prod", "cumsum", "logsumexp", "argmax", "argmin", "softmax")


@dataclass
class Sample:
    task: Task
    candidate: Candidate
    family: str
    schedule: dict[str, Any] = field(default_factory=dict)
    principles: tuple[str, ...] = ()


def samples(n: int = 40) -> list[Sample]:
    made = []
    for i in range(n):
        task = Task(MODULE.format(op=OPS[i % 10], dim=0, n=4 + i // 10), apis=(f"torch.{OPS[i % 10]}",))
        made.append(Sample(task, Candidate(task.id, "triton", f"class ModelNew: {i}"), "reduction"))
    return made


def test_only_what_passed_is_kept_and_every_failure_keeps_its_verdict(tmp_path: Path) -> None:
    rows = corpus.build(samples(), judge, tmp_path / "c.jsonl", wanted=5, batch=8)
    assert sum(row["kept"] for row in rows) >= 5
    assert len(rows) < 40  # it stops once there are enough
    assert all(row["kept"] == (row["verdict"]["outcome"] == "pass") for row in rows)
    kept = corpus.pairs(rows)
    assert all(pair.verdict.passed and pair.candidate.task_id == pair.task.id for pair in kept)


def test_a_killed_build_goes_on_and_ends_the_same(tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(kept: int, made: int) -> None:
        if made >= 16:
            raise KilledError

    whole = corpus.build(samples(), judge, tmp_path / "a.jsonl", wanted=12, batch=8)
    with pytest.raises(KilledError):
        corpus.build(samples(), judge, tmp_path / "b.jsonl", wanted=12, batch=8, on_batch=kill)
    corpus.build(samples(), judge, tmp_path / "b.jsonl", wanted=12, batch=8)
    assert read_steps(tmp_path / "a.jsonl") == read_steps(tmp_path / "b.jsonl")
    assert len(whole) == len(read_steps(tmp_path / "a.jsonl"))


def test_a_copy_of_a_held_out_module_never_enters(tmp_path: Path) -> None:
    exam = load_tasks("heldout:2")[0]
    copied = Sample(replace(exam, origin="teacher"), Candidate(exam.id, "triton", "class ModelNew: ok"), "matmul")
    asked: list[str] = []

    def watch(tasks: list[Task], candidates: list[Candidate], protocol: str) -> Iterator[Verdict]:
        asked.extend(task.id for task in tasks)
        yield from judge(tasks, candidates, protocol)

    rows = corpus.build([*samples(6), copied], watch, tmp_path / "c.jsonl", wanted=99, held_out=[exam])
    assert rows[-1]["reason"] == "held_out"
    assert not rows[-1]["kept"]
    assert exam.id not in asked


def all_pass(tasks: list[Task], candidates: list[Candidate], protocol: str) -> Iterator[Verdict]:
    for verdict in judge(tasks, candidates, protocol):
        yield replace(verdict, outcome=Outcome.PASS)


def test_no_module_is_on_both_sides_of_the_split(tmp_path: Path) -> None:
    pairs = corpus.pairs(corpus.build(samples(), all_pass, tmp_path / "c.jsonl", wanted=40))
    train, apart = corpus.split(pairs, 12, seed=1)
    assert len(train) + len(apart) == len(pairs) == 40
    assert 0 < len(apart) <= 10  # never more than a quarter
    assert not {corpus.identity(p.task.source) for p in train} & {corpus.identity(p.task.source) for p in apart}
    assert corpus.split(pairs, 12, seed=1) == (train, apart)


class CountingVerifier:
    def __init__(self, outcome: Outcome | None = None) -> None:
        self.asked, self.outcome = 0, outcome

    def verify(self, tasks: Any, candidates: Iterable[Candidate], *, protocol: str, seed: int) -> Iterator[Verdict]:
        listed = list(candidates)
        self.asked += len(listed)
        for verdict in judge(list(tasks), listed, protocol):
            yield replace(verdict, seed=seed, outcome=self.outcome or verdict.outcome)

    def check(self, tasks: Iterable[Task], seed: int | None = None) -> Iterator[Any]:
        from kzlib.verifier.check import TaskCheck

        for task in tasks:
            yield TaskCheck(task.id, True)


def candidates(n: int = 6) -> list[Candidate]:
    return [Candidate(tasks(1)[0].id, "triton", str(i)) for i in range(n)]


def test_equal_code_is_judged_once_in_a_stage_but_our_own_failures_again() -> None:
    verifier = CountingVerifier(Outcome.WRONG)
    judging = Judging(verifier, seed=5)  # type: ignore[arg-type]
    first = {v.candidate_id: v for v in judging(tasks(1), candidates(), "strict")}
    again = {v.candidate_id: v for v in judging(tasks(1), candidates(), "strict")}
    assert first == again
    assert verifier.asked == 6
    list(judging(tasks(1), candidates(), "keck"))  # another protocol is another question
    assert verifier.asked == 12
    broken = CountingVerifier(Outcome.INFRA)
    judging = Judging(broken, seed=5)  # type: ignore[arg-type]
    for _ in range(2):
        list(judging(tasks(1), candidates(), "strict"))
    assert broken.asked == 12


def test_near_copies_share_or_are_refused() -> None:
    modules = [s.task for s in samples(20)][::10]  # the same reduction with another size
    wanted = [task.apis for task in modules]
    for allowed, expected in ((True, [True, True]), (False, [True, False])):
        check = module_checks(CountingVerifier(), 1, allowed)  # type: ignore[arg-type]
        found = check(modules, wanted)
        assert [c.valid for c in found] == expected
        assert found[1].gate == "near_copy"


def test_share_has_its_count_and_an_empty_one_says_nothing() -> None:
    assert str(Share(1, 2)) == "50% (1 of 2; 95 % interval 9% to 91%)"
    assert Share(0, 0).interval == (0.0, 1.0)


def test_checks_of_a_policy_count_what_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "extract", readable)
    monkeypatch.setattr(rewards, "extract", readable)
    model, tokenizer = tiny()
    ask = Sampling(3, 5, 1.0, seed=2)
    answers, verdicts = heldout_check.solve_tasks(model, tokenizer, tasks(), judge, "triton", ask, "strict")
    assert [a.task_id for a in answers] == [v.task_id for v in verdicts] == [t.id for t in tasks() for _ in range(3)]
    rate = heldout_check.pass_rate(verdicts)
    assert rate.n == sum(v.outcome is not Outcome.INFRA for v in verdicts)
    modules, checks = heldout_check.propose(
        model, tokenizer, [("a",), ("b",)], lambda ts, s: [ModuleCheck(True, "") for _ in ts], ask
    )
    assert len(modules) == len(checks) == 6
    assert heldout_check.validity([*checks, ModuleCheck(None, "runs")]).n == 6


def test_proposals_are_scored_by_their_api_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rewards, "extract", readable)
    model, tokenizer = tiny()
    sets = [("a", "b"), ("c",), ("d",)]

    def check(modules: list[Task], wanted: list[tuple[str, ...]]) -> list[ModuleCheck]:
        return [ModuleCheck({"a": True, "c": False, "d": None}[names[0]], "double") for names in wanted]

    reward = rewards.ProposerReward(check, lambda ts, k: [[]] * len(ts), judge, 0, k=0, frontier=False)
    found = heldout_check.proposals(model, tokenizer, sets, reward, Sampling(2, 5, 1.0, seed=2))
    assert found["validity"] == {"a + b": 1.0, "c": 0.0}  # what our machine failed on has no value
    assert found["frontier_reward"] == {"a + b": 1.0, "c": -1.0}


def test_step_summaries_leave_out_what_was_not_judged() -> None:
    row = {"answer": {"backend": "triton"}, "outcome": "pass", "speedup": 0.5}
    rows = [row, {**row, "speedup": 2.0}, {**row, "outcome": "infra"}, {**row, "outcome": "wrong"}]
    assert coder_summary(rows) == {"pass@1/triton": 2 / 3, "fast_1@1/triton": 1 / 3}
    assert coder_summary([{**row, "outcome": "infra"}]) == {}
    module = {"task": {"source": "x"}, "valid": True, "p": 0.5, "reward": 1.0}
    found = proposer_summary([module, module, {**module, "valid": None, "p": None, "reward": None}])
    assert found == {"validity": 1.0, "coder_accuracy": 0.5, "frontier_reward": 1.0, "unique": 0.5}
    assert proposer_summary([]) == {}


def test_a_corpus_made_beforehand_is_continued_and_another_one_refused(tmp_path: Path) -> None:
    made = tmp_path / "made.jsonl"
    rows = corpus.build(samples(6), judge, made, wanted=2)
    corpus.export(rows, tmp_path / "triton.parquet", key="k")
    with pytest.raises(ValueError, match="make it again with kz corpus"):
        corpus.adopt(tmp_path / "triton.parquet", tmp_path / "other.jsonl", key="another teacher")
    here = tmp_path / "here.jsonl"
    assert corpus.adopt(tmp_path / "triton.parquet", here, key="k") == len(rows)
    assert corpus.adopt(tmp_path / "triton.parquet", here, key="k") == len(rows)  # a resumed cell adds nothing
    assert read_steps(here) == read_steps(made)
    assert corpus.build(samples(6), judge, here, wanted=2) == read_steps(made)
