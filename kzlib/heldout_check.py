"""How good is a policy right now? A few answers to held-out modules, a few modules for held-out API sets, all judged.

Source: issue 6 item 7 (held-out pass rate while it trains), issue 7 (validity of the trained Proposer).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kzlib import policy
from kzlib.prompts import Style, as_model_input, coder_prompt, proposer_prompt
from kzlib.records import Answer, Backend, Task, Verdict
from kzlib.rewards import Check, Judge, ModuleCheck, ProposerReward, judge_in_order, proposed


@dataclass(frozen=True, slots=True)
class Share:
    """k of n, with Wilson's 95 % interval."""

    k: int
    n: int

    @property
    def value(self) -> float:
        return self.k / self.n if self.n else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """
        >>> [round(x, 2) for x in Share(8, 10).interval]
        [0.49, 0.94]
        """
        if not self.n:
            return 0.0, 1.0
        z, p = 1.96, self.value
        middle = (p + z * z / (2 * self.n)) / (1 + z * z / self.n)
        half = z / (1 + z * z / self.n) * math.sqrt(p * (1 - p) / self.n + z * z / (4 * self.n**2))
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.0%} ({self.k} of {self.n}; 95 % interval {low:.0%} to {high:.0%})"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the policy is asked."""

    samples: int
    max_new_tokens: int
    temperature: float
    seed: int
    style: Style = "compact"
    engine: policy.Engine = "transformers"


def solve_tasks(
    model: Any, tokenizer: Any, tasks: Sequence[Task], judge: Judge, backend: Backend, ask: Sampling, protocol: str
) -> tuple[list[Answer], list[Verdict]]:
    """`ask.samples` answers of the Coder to every task, with their verdicts in the same order."""
    prompts = [as_model_input(coder_prompt(t.source, backend, ask.style), tokenizer, ask.style) for t in tasks]
    written = policy.generate(
        model, tokenizer, prompts, ask.samples, ask.max_new_tokens, ask.temperature, seed=ask.seed, engine=ask.engine
    )
    answers = [
        Answer(task.id, i, backend, g.text, g.tokens, g.finish_reason)
        for task, texts in zip(tasks, written, strict=True)
        for i, g in enumerate(texts)
    ]
    return answers, judge_in_order(tasks, answers, judge, protocol)


def pass_rate(verdicts: Sequence[Verdict]) -> Share:
    """pass@1 over the answers that were judged."""
    judged = [v for v in verdicts if v.judged]
    return Share(sum(v.passed for v in judged), len(judged))


def propose(
    model: Any, tokenizer: Any, sets: Sequence[tuple[str, ...]], check: Check, ask: Sampling
) -> tuple[list[Task | None], list[ModuleCheck]]:
    """`ask.samples` modules of the Proposer for every API set, each with the gate that stopped it."""
    prompts = [as_model_input(proposer_prompt(s, ask.style), tokenizer, ask.style) for s in sets]
    written = policy.generate(
        model, tokenizer, prompts, ask.samples, ask.max_new_tokens, ask.temperature, seed=ask.seed, engine=ask.engine
    )
    wanted = [s for s in sets for _ in range(ask.samples)]
    texts = [g for group in written for g in group]
    modules = [proposed(g.text, g.finish_reason, s) for g, s in zip(texts, wanted, strict=True)]
    there = [(m, s) for m, s in zip(modules, wanted, strict=True) if m]
    found = iter(check([m for m, _ in there], [s for _, s in there]))
    nothing = ModuleCheck(False, "parse", "the answer holds no module")
    return modules, [next(found) if m else nothing for m in modules]


def proposals(
    model: Any, tokenizer: Any, sets: Sequence[tuple[str, ...]], reward: ProposerReward, ask: Sampling
) -> dict[str, dict[str, float]]:
    """What `ask.samples` proposals for every API set are worth: {"validity", "frontier_reward"} -> set -> its mean.

    A set none of whose proposals could be judged has no value.
    """
    prompts = [as_model_input(proposer_prompt(s, ask.style), tokenizer, ask.style) for s in sets]
    written = policy.generate(
        model, tokenizer, prompts, ask.samples, ask.max_new_tokens, ask.temperature, seed=ask.seed, engine=ask.engine
    )
    earned = iter(reward.score_texts([g for group in written for g in group], [s for s in sets for _ in written[0]]))
    valid = iter([row["valid"] for row in reward.rows])
    out: dict[str, dict[str, float]] = {"validity": {}, "frontier_reward": {}}
    for names, group in zip(sets, written, strict=True):
        for quantity, stream in (("validity", valid), ("frontier_reward", earned)):
            known = [float(value) for value in (next(stream) for _ in group) if value is not None]
            if known:
                out[quantity][" + ".join(names)] = math.fsum(known) / len(known)
    return out


def validity(checks: Sequence[ModuleCheck]) -> Share:
    """Valid modules among those we could check."""
    known = [c for c in checks if c.valid is not None]
    return Share(sum(bool(c.valid) for c in known), len(known))
