"""Evaluation: a killed run goes on where it stopped with the same answers, and old answers never pass for new ones."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kzlib.contenders import checkpoint_digest
from kzlib.evaluation import Subject, evaluate, skipped
from kzlib.metrics import Attempt
from kzlib.records import Candidate, Outcome, Task, Timing, Verdict
from kzlib.scores import protocol_gap, read_attempts, score, write_attempts

GOOD = "```python\nclass ModelNew:\n    tag = '{}'\n```"


@dataclass
class Text:
    text: str
    tokens: int = 5
    finish_reason: str = "stop"


class Writer:
    """A policy double: answer i of a prompt says which call and seed made it."""

    def __init__(self, stop_after: int | None = None):
        self.calls: list[tuple[list[str], int, int]] = []
        self.stop_after = stop_after

    def __call__(self, prompts, n, seed):
        if self.stop_after is not None and len(self.calls) >= self.stop_after:
            raise KeyboardInterrupt
        self.calls.append((list(prompts), n, seed))
        return [[Text(GOOD.format(f"{prompt[:9]} {i % 3} {seed}")) for i in range(n)] for prompt in prompts]


class Judge:
    """A verifier double: outcomes by task id, else pass."""

    def __init__(self, outcomes=None):
        self.outcomes = outcomes or {}
        self.seen: list[Candidate] = []

    def __call__(self, tasks, candidates, protocol):
        for candidate in candidates:
            self.seen.append(candidate)
            outcome = self.outcomes.get(candidate.task_id, Outcome.PASS)
            timing = Timing(1.0, 2.0, 2.0, "modelled", 1, 0.0) if outcome is Outcome.PASS else None
            yield Verdict(
                candidate.task_id,
                candidate.id,
                candidate.backend,
                outcome,
                "done",
                "cpu-interpreter",
                protocol,
                timing=timing,
            )


TASKS = [Task(f"class Model: number = {i}", level=1 + i % 2) for i in range(5)]


def run(folder, write, judge, tasks=TASKS, says=None, **facts):
    subject = Subject("coder", "heldout", "triton", facts.pop("n", 4), **facts)
    said = [] if says is None else says
    return evaluate(subject, tasks, write, judge, lambda task: task.source, folder, chunk=2, say=said.append)


def test_every_answer_becomes_one_attempt_and_equal_code_is_judged_once(tmp_path):
    judge = Judge()
    attempts = run(tmp_path, Writer(), judge)
    assert len(attempts) == 5 * 4
    assert len(judge.seen) == 5 * 3  # samples 0 and 3 of a task are the same code
    assert {(a.task_id, a.sample) for a in attempts} == {(t.id, i) for t in TASKS for i in range(4)}
    assert all(a.speedup == 2.0 and a.timing_kind == "modelled" and a.tokens == 5 for a in attempts)


def test_a_killed_run_continues_and_ends_with_the_same_answers(tmp_path):
    whole = run(tmp_path / "whole", Writer(), Judge())
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "cut", Writer(stop_after=1), Judge())
    with (tmp_path / "cut" / "answers.05_evaluation.coder.heldout.triton.jsonl").open("a") as file:
        file.write('{"schema": 1, "task_id"')  # the writer died inside a line
    said: list[str] = []
    writer, judge = Writer(), Judge()
    resumed = run(tmp_path / "cut", writer, judge, says=said)
    assert resumed == whole
    assert len(writer.calls) == 2
    assert len(judge.seen) == 3 * 3
    assert said == ["coder.heldout.triton: answers of 2 of 5 tasks reused from disk"]
    names = {path.name for path in (tmp_path / "whole").iterdir() if not path.name.startswith("time.")}
    for name in names:
        assert (tmp_path / "cut" / name).read_text() == (tmp_path / "whole" / name).read_text()


def test_a_finished_evaluation_asks_for_nothing(tmp_path):
    first = run(tmp_path, Writer(), Judge())
    writer, judge = Writer(), Judge()
    assert run(tmp_path, writer, judge) == first
    assert (writer.calls, judge.seen) == ([], [])


@pytest.mark.parametrize(
    "change",
    [{"settings": (("weights", "new"),)}, {"n": 3}, {"seed": 1}, {"tasks": TASKS[:3]}],
    ids=["weights", "n", "seed", "tasks"],
)
def test_answers_of_other_weights_or_settings_are_not_reused(tmp_path, change):
    run(tmp_path, Writer(), Judge())
    said: list[str] = []
    writer = Writer()
    attempts = run(tmp_path, writer, Judge(), says=said, **change)
    assert writer.calls
    assert "starting over" in said[0]
    assert len(attempts) == len(change.get("tasks", TASKS)) * change.get("n", 4)


def test_our_own_failures_are_judged_again_on_the_next_run(tmp_path):
    flaky = TASKS[1].id
    first = run(tmp_path, Writer(), Judge({flaky: Outcome.INFRA}))
    assert skipped(first) == {"infra": 1}
    judge = Judge()
    again = run(tmp_path, Writer(), judge)
    assert {candidate.task_id for candidate in judge.seen} == {flaky}
    assert all(a.passed for a in again)


def test_answers_without_code_get_a_verdict_and_never_reach_the_verifier(tmp_path):
    class Mute(Writer):
        def __call__(self, prompts, n, seed):
            return [
                [Text("I cannot."), Text("```python\nclass ModelNew:\n    def f(", finish_reason="length")]
                for _ in prompts
            ]

    judge = Judge()
    attempts = run(tmp_path, Mute(), judge, n=2)
    assert judge.seen == []
    assert [a.outcome for a in attempts[:2]] == [Outcome.NO_CODE, Outcome.TRUNCATED]


def test_a_verifier_that_forgets_a_candidate_is_an_error_not_a_failure(tmp_path):
    def forgetful(tasks, candidates, protocol):
        yield from list(Judge()(tasks, candidates, protocol))[1:]

    with pytest.raises(RuntimeError, match="no verdict for 1 candidate"):
        run(tmp_path, Writer(), forgetful)


def test_scores_name_timing_place_tasks_and_what_was_left_out(tmp_path):
    attempts = run(tmp_path, Writer(), Judge({TASKS[0].id: Outcome.INVALID_TASK, TASKS[1].id: Outcome.WRONG}))
    rows = score(attempts, ks=[1, 8], ps=[1.0, 2.0])
    all_levels = {(r["metric"], r["k"]): r for r in rows if r["level"] == 0}
    assert all_levels["pass", 1]["value"] == 0.75
    assert (all_levels["pass", 1]["tasks"], all_levels["pass", 1]["left_out"]) == (4, "1 invalid_task")
    assert all_levels["pass", 8]["value"] is None
    assert all_levels["pass", 8]["left_out"] == "1 invalid_task, 4 too_few_answers"
    assert all_levels["fast_1", 1]["value"] == 0.75
    assert all_levels["fast_2", 1]["value"] == 0.0  # exactly twice as fast is not more than twice
    assert all_levels["best_speedup", None]["left_out"] == "1 no_correct_kernel"
    assert {r["timing"] for r in rows} == {"modelled"}
    assert {r["level"] for r in rows} == {0, 1, 2}


def test_attempts_survive_the_file(tmp_path):
    attempts = [
        *run(tmp_path, Writer(), Judge({TASKS[0].id: Outcome.WRONG})),
        Attempt("x", 0, Outcome.PASS, precision="tf32"),
    ]
    write_attempts(tmp_path / "attempts.csv", attempts)
    assert read_attempts(tmp_path / "attempts.csv") == attempts


def test_protocol_gap_counts_only_answers_both_judged():
    def one(sample, protocol, outcome):
        return Attempt("t", sample, outcome, protocol=protocol)

    attempts = [
        *(one(i, "keck", Outcome.PASS) for i in range(3)),
        one(0, "strict", Outcome.PASS),
        one(1, "strict", Outcome.LIBRARY_ONLY),
        one(3, "strict", Outcome.WRONG),
    ]
    assert protocol_gap(attempts) == {"pass": 1, "library_only": 1}


def test_checkpoint_digest_sees_a_changed_weight(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(bytes(3 << 20))
    before = checkpoint_digest(tmp_path)
    assert checkpoint_digest(tmp_path) == before
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    assert checkpoint_digest(tmp_path) != before


def test_file_names_hold_no_path_of_the_machine():
    stem = Subject("/home/me/model", "kernelbench:/data/KernelBench:level1", "cuda", 1).stem
    assert "/" not in stem
    assert "home" not in stem
