"""What an answer earns: text -> code -> verdict -> (c, S) for the Coder, text -> module -> p -> R for the Proposer.

Both are callables in the shape of TRL's reward functions. They keep, for every answer of the last call, a row that
says what happened; the trainer adds reward and advantage and writes it. Source: issue 7 items 3 and 4.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from kzlib.answers import extract
from kzlib.evaluation import judge_answers
from kzlib.frontier import frontier_reward
from kzlib.identity import identity
from kzlib.policy import Generation
from kzlib.records import NOT_JUDGED, Answer, Backend, Candidate, Outcome, Task, Verdict, to_json
from kzlib.validity import check_validity

if TYPE_CHECKING:
    from kzlib.verifier import Verifier

# tasks, candidates, protocol -> one verdict a candidate, as they finish
Judge = Callable[[list[Task], list[Candidate], str], Iterable[Verdict]]
# modules and the API sets asked for -> for each its (valid, gate, message); valid is None where our machine failed
Check = Callable[[list[Task], list[tuple[str, ...]]], "list[ModuleCheck]"]


class Text(Protocol):
    @property
    def text(self) -> str: ...

    @property
    def tokens(self) -> int: ...

    @property
    def finish_reason(self) -> str: ...


# modules, answers a module -> for each module its answers, from the frozen Coder, in one batch
Solve = Callable[[list[Task], int], Sequence[Sequence[Text]]]


@dataclass(frozen=True, slots=True)
class ModuleCheck:
    """A proposed module against the validity gates; `valid` is None where we could not tell."""

    valid: bool | None
    gate: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The Coder's answers to one module, and p: the mean correctness over the judged ones (None if none was)."""

    task: Task
    answers: tuple[Answer, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def p(self) -> float | None:
        judged = [v for v in self.verdicts if v.judged]
        return sum(v.passed for v in judged) / len(judged) if judged else None


def correctness(verdict: Verdict) -> float | None:
    """c: 1 or 0; None where the verdict speaks of our machine or of the task."""
    return float(verdict.passed) if verdict.judged else None


def speedup(verdict: Verdict) -> float:
    """S over the reference; 0 where nothing was timed."""
    return verdict.timing.speedup if verdict.timing else 0.0


def judge_in_order(tasks: Sequence[Task], answers: Sequence[Answer], judge: Judge, protocol: str) -> list[Verdict]:
    """One verdict an answer, in the answers' order; equal code of one task is judged once."""
    numbered = [replace(answer, sample=i) for i, answer in enumerate(answers)]
    unique = list({task.id: task for task in tasks}.values())
    out: dict[int, Verdict] = {}
    for verdict in judge_answers(unique, numbered, protocol, judge):
        out[verdict.evidence["sample"]] = verdict
    return [replace(out[i], evidence={**out[i].evidence, "sample": answer.sample}) for i, answer in enumerate(answers)]


def texts_of(completions: Sequence[Any]) -> list[str]:
    """TRL's completions as text: plain strings, or chats whose last message holds the answer."""
    return [c if isinstance(c, str) else c[-1]["content"] for c in completions]


def finish_reasons(completion_ids: Sequence[Sequence[int]], end: int) -> list[str]:
    return ["stop" if len(ids) and ids[-1] == end else "length" for ids in completion_ids]


class Judging:
    """A `Judge` over a warm verifier, with one seed for the whole stage: equal code gets its verdict once.

    What our machine failed on is not remembered.
    """

    def __init__(self, verifier: Verifier, seed: int, progress: Callable[[int, int], None] | None = None) -> None:
        self.verifier, self.seed, self.progress = verifier, seed, progress
        self.known: dict[tuple[str, str], Verdict] = {}
        self.asked = 0

    def __call__(self, tasks: list[Task], candidates: list[Candidate], protocol: str) -> Iterator[Verdict]:
        self.asked += len(candidates)
        new = [c for c in candidates if (c.id, protocol) not in self.known]
        yield from (self.known[c.id, protocol] for c in candidates if (c.id, protocol) in self.known)
        for done, verdict in enumerate(self.verifier.verify(tasks, new, protocol=protocol, seed=self.seed), 1):
            if verdict.outcome is not Outcome.INFRA:
                self.known[verdict.candidate_id, protocol] = verdict
            if self.progress:
                self.progress(done, len(new))
            yield verdict


def module_checks(verifier: Verifier, seed: int, near_copies: bool, known: Iterable[str] = ()) -> Check:
    """A `Check` by the validity gates.

    `near_copies=True` lets copies of earlier modules of the same call through: a group of answers to one API set is
    compared with itself, and its copies then share one reward (P32).
    """
    pool = tuple(known)

    def check(tasks: list[Task], requested: list[tuple[str, ...]]) -> list[ModuleCheck]:
        found = check_validity(tasks, requested, verifier, pool, seed)
        return [ModuleCheck(v.valid or (near_copies and v.gate == "near_copy"), v.gate, v.message) for v in found]

    return check


@dataclass
class CoderReward:
    """Verifies a batch once, then hands out c and S. Give `[reward.correct, reward.speed]` to the trainer."""

    tasks: Mapping[str, Task]
    judge: Judge
    end: int  # token that ends an answer
    protocol: str = "strict"
    rows: list[dict[str, Any]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    def correct(
        self, completions: Sequence[Any], completion_ids: Sequence[Sequence[int]], task_id: Sequence[str],
        backend: Sequence[Backend], **_: Any,
    ) -> list[float | None]:  # fmt: skip
        reasons = finish_reasons(completion_ids, self.end)
        seen: dict[str, int] = {}
        answers = []
        for text, ids, reason, task, language in zip(
            texts_of(completions), completion_ids, reasons, task_id, backend, strict=True
        ):
            seen[task] = seen.get(task, -1) + 1
            answers.append(Answer(task, seen[task], language, text, len(ids), reason))
        self.verdicts = judge_in_order([self.tasks[t] for t in task_id], answers, self.judge, self.protocol)
        self.rows = [
            {"outcome": v.outcome.value, "speedup": speedup(v), "answer": to_json(a), "verdict": to_json(v)}
            for a, v in zip(answers, self.verdicts, strict=True)
        ]
        return [correctness(v) for v in self.verdicts]

    def speed(self, completions: Sequence[Any], **_: Any) -> list[float | None]:
        assert len(completions) == len(self.verdicts), "speed is asked for after correct, on the same answers"
        return [speedup(v) if v.judged else None for v in self.verdicts]

    def last_rows(self) -> list[dict[str, Any]]:
        return self.rows


@dataclass
class ProposerReward:
    """Frontier reward of a step's modules: gates, then K answers of the frozen Coder to all valid ones at once."""

    check: Check
    solve: Solve
    judge: Judge
    end: int
    k: int = 4
    rho: float = -1.0
    backend: Backend = "triton"
    protocol: str = "strict"
    frontier: bool = True  # False: every valid module earns 1 (the ablation without the frontier reward)
    rows: list[dict[str, Any]] = field(default_factory=list)
    solving: float = 0.0  # seconds that the frozen Coder wrote in the last call

    def reward(
        self,
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]],
        apis: Sequence[Sequence[str]],
        **_: Any,
    ) -> list[float | None]:
        """TRL's call: one reward an answer, None where nobody could tell."""
        reasons = finish_reasons(completion_ids, self.end)
        texts = [
            Generation(text, len(ids), reason)
            for text, ids, reason in zip(texts_of(completions), completion_ids, reasons, strict=True)
        ]
        return self.score_texts(texts, [tuple(names) for names in apis])

    def score_texts(self, texts: Sequence[Text], sets: Sequence[tuple[str, ...]]) -> list[float | None]:
        """Rewards of proposals for the given API sets; the harvest asks the same."""
        self.solving = 0.0
        modules = [proposed(t.text, t.finish_reason, names) for t, names in zip(texts, sets, strict=True)]
        checks = self.checked(modules, sets)
        valid = [m for m, check in zip(modules, checks, strict=True) if m and check.valid]
        solved = self.attempts(valid)
        rewards, self.rows = [], []
        for text, module, check in zip(texts, modules, checks, strict=True):
            attempts = solved.get(module.id) if module and check.valid else None
            rewards.append(self.score(check, attempts))
            task_id = module.id if module else ""
            answer = Answer(task_id, 0, self.backend, text.text, text.tokens, text.finish_reason, role="proposer")
            self.rows.append(_proposal(answer, module, check, attempts))
        return rewards

    def checked(self, modules: Sequence[Task | None], requested: Sequence[tuple[str, ...]]) -> list[ModuleCheck]:
        """Validity of each module, in order. Equal modules for equal sets are checked once."""
        wanted = {(m.id, names): (m, names) for m, names in zip(modules, requested, strict=True) if m}
        tasks, sets = [m for m, _ in wanted.values()], [names for _, names in wanted.values()]
        found = dict(zip(wanted, self.check(tasks, sets), strict=True)) if tasks else {}
        nothing = ModuleCheck(False, "parse", "the answer holds no module")
        return [found[m.id, names] if m else nothing for m, names in zip(modules, requested, strict=True)]

    def attempts(self, tasks: Sequence[Task]) -> dict[str, Attempts]:
        """What the frozen Coder made of every module, by module id; near copies share the answers to the first."""
        named = {task.id: identity(task.source) for task in tasks}
        first = {named[task.id]: task for task in reversed(tasks)}
        solved = {named[a.task.id]: a for a in self._solved(list(first.values()))}
        return {task.id: solved[named[task.id]] for task in tasks}

    def _solved(self, unique: Sequence[Task]) -> Iterator[Attempts]:
        """K answers of the frozen Coder to every module, judged together: verdicts come while others still build."""
        if not unique:
            return
        start = time.perf_counter()
        written = self.solve(list(unique), self.k)
        self.solving += time.perf_counter() - start
        answers = [
            Answer(task.id, i, self.backend, t.text, t.tokens, t.finish_reason)
            for task, texts in zip(unique, written, strict=True)
            for i, t in enumerate(texts)
        ]
        verdicts = judge_in_order(unique, answers, self.judge, self.protocol)
        for i, task in enumerate(unique):
            mine = slice(i * self.k, (i + 1) * self.k)
            yield Attempts(task, tuple(answers[mine]), tuple(verdicts[mine]))

    def score(self, check: ModuleCheck, attempt: Attempts | None) -> float | None:
        """None where our machine failed on the module or on all its answers."""
        if check.valid is None:
            return None
        if not check.valid:
            return self.rho
        if not self.frontier:
            return 1.0
        p = attempt.p if attempt else None
        return None if p is None else frontier_reward(p, True, self.rho)

    def last_rows(self) -> list[dict[str, Any]]:
        return self.rows

    def summary(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """`proposer_summary`, with the seconds and the tokens of the frozen Coder."""
        tokens = sum(answer["tokens"] for row in rows for answer in row["coder_answers"])
        return proposer_summary(rows) | {"seconds/solve": self.solving, "coder_tokens": tokens}


def coder_summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """pass@1 and fast_1@1 of a step's judged answers, by backend; a backend without judged answers has no value.

    >>> row = {"answer": {"backend": "triton"}, "outcome": "pass", "speedup": 1.5}
    >>> coder_summary([row, {**row, "outcome": "wrong", "speedup": 0.0}])
    {'pass@1/triton': 0.5, 'fast_1@1/triton': 0.5}
    """
    out: dict[str, float] = {}
    for backend in sorted({row["answer"]["backend"] for row in rows}):
        mine = [r for r in rows if r["answer"]["backend"] == backend and r["outcome"] not in NOT_JUDGED]
        if mine:
            passed = [r for r in mine if r["outcome"] == Outcome.PASS]
            out[f"pass@1/{backend}"] = len(passed) / len(mine)
            out[f"fast_1@1/{backend}"] = sum(r["speedup"] > 1 for r in passed) / len(mine)
    return out


def proposer_summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Validity, the Coder's mean p on valid modules, mean reward, and how many of the valid modules differ (P32)."""
    judged = [row for row in rows if row["valid"] is not None]
    valid = [row for row in judged if row["valid"]]
    known = [row["p"] for row in valid if row["p"] is not None]
    rewards = [row["reward"] for row in rows if row["reward"] is not None and not math.isnan(row["reward"])]
    out = {"validity": len(valid) / len(judged)} if judged else {}
    if known:
        out["coder_accuracy"] = sum(known) / len(known)
    if rewards:
        out["frontier_reward"] = sum(rewards) / len(rewards)
    if valid:
        out["unique"] = len({identity(row["task"]["source"]) for row in valid}) / len(valid)
    return out


def proposed(text: str, finish_reason: str, apis: tuple[str, ...], origin: str = "proposer") -> Task | None:
    """The module in a Proposer's answer, or None."""
    found = extract(text, finish_reason, entry="Model")
    return Task(found.code, apis, origin) if found.code else None


def _proposal(answer: Answer, module: Task | None, check: ModuleCheck, attempt: Attempts | None) -> dict[str, Any]:
    p = attempt.p if attempt else None
    return {
        "outcome": "valid" if check.valid else (Outcome.INFRA.value if check.valid is None else check.gate),
        "valid": check.valid,
        "gate": check.gate,
        "message": check.message,
        "p": None if p is None or math.isnan(p) else p,
        "task": to_json(module) if module else None,
        "answer": to_json(answer),
        "coder_answers": [to_json(a) for a in attempt.answers] if attempt else [],
        "coder_verdicts": [to_json(v) for v in attempt.verdicts] if attempt else [],
    }
