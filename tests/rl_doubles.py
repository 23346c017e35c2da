"""Small stand-ins for the RL tests: a tokenizer, models of a few thousand weights, a verifier that hashes the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kzlib import policy
from kzlib.records import Candidate, Outcome, Task, Timing, Verdict
from kzlib.rewards import ModuleCheck

LETTERS = "class ModelNew: abcdefgh\n"


def tiny(seed: int = 0) -> tuple[Any, Any]:
    """(model, tokenizer): one layer, random weights."""
    policy.quiet()
    tokenizer = policy.build_tokenizer([LETTERS], vocab_size=280)
    return policy.build_model(tokenizer, layers=1, hidden=16, heads=2, seed=seed), tokenizer


def tasks(n: int = 4) -> list[Task]:
    return [Task(f"class Model: {'abcdefgh'[i]}", apis=("torch.relu",), origin="double") for i in range(n)]


def verdict_on(candidate: Candidate) -> Verdict:
    """Judged by content alone, so that every process agrees: the code's id decides outcome and speed."""
    digit = int(candidate.id, 16)
    outcome = (Outcome.PASS, Outcome.WRONG, Outcome.COMPILE_FAIL, Outcome.PASS, Outcome.WRONG, Outcome.INFRA)[digit % 6]
    timing = Timing(1.0, 1.0, 0.5 + digit % 7, "modelled", 1, 0.0) if outcome is Outcome.PASS else None
    return Verdict(
        candidate.task_id, candidate.id, candidate.backend, outcome, "done", "cpu-interpreter", "strict", timing=timing
    )


def judge(tasks: list[Task], candidates: list[Candidate], protocol: str) -> Iterator[Verdict]:
    known = {task.id for task in tasks}
    for candidate in reversed(candidates):  # a real verifier answers in any order
        assert candidate.task_id in known
        yield verdict_on(candidate)


def check(tasks: list[Task], requested: Iterable[tuple[str, ...]]) -> list[ModuleCheck]:
    return [ModuleCheck(int(task.id, 16) % 4 != 0, "double") for task in tasks]


def readable(text: str, *_: Any, **__: Any) -> Any:
    """Every text is code: a random model never writes a real class."""
    from kzlib.answers import Extraction

    return Extraction(text, None, "whole")
