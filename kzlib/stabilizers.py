"""MusaCoder's stabilisers for the Coder's RL, each off unless a profile names it.

- reward ladder: -1 for nothing, up to -0.5 for partly right, 1 and more for right and fast (eq. 2);
- PrimeEcho: up to three turns, the reward anchored on the first, the gradient on the first alone (eq. 9);
- Buffered Dynamic Retry: all-failed prompts come back, now and then, with the failed code and its error;
- MirrorPop: a sequence counts only if mean |log ratio| <= delta (eq. 20-21).
Values marked "ours" are not in the paper or in anything we could read. Source: issue 7 item 6.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from torch import Tensor

from kzlib.ca_grpo import GroupTrainer
from kzlib.prompts import Style, as_model_input, repair_prompt
from kzlib.records import NOT_JUDGED, Outcome, Verdict
from kzlib.rewards import CoderReward


@dataclass(frozen=True, slots=True)
class Ladder:
    """Constants of the reward ladder."""

    speed_weight: float = 0.5  # lambda (ours)
    speed_cap: float = 4.0  # nu_max (ours)


def ladder(q: float, speedup: float = 0.0, constants: Ladder = Ladder()) -> float:
    """s(c): -1 if no test passed, -0.5 + 0.5 q for a share q of them, 1 + lambda * min(max(nu - 1, 0), nu_max) for all.

    >>> ladder(0), ladder(0.5), ladder(1, speedup=1.0), ladder(1, speedup=3.0)
    (-1.0, -0.25, 1.0, 2.0)
    """
    if not 0 <= q <= 1:
        raise ValueError(f"q is {q}, but a share of passed tests lies in [0, 1]")
    if q == 0:
        return -1.0
    if q < 1:
        return -0.5 + 0.5 * q
    return 1.0 + constants.speed_weight * min(max(speedup - 1.0, 0.0), constants.speed_cap)


def rung(verdict: Verdict, constants: Ladder = Ladder()) -> float | None:
    """The ladder's score of a verdict, None where nothing was judged.

    q is the share of input sets that passed, where the verdict counts them; a verifier that stops at the first wrong
    output gives 0. Dishonest work earns what no work earns.
    """
    if not verdict.judged:
        return None
    if verdict.passed:
        return ladder(1.0, verdict.timing.speedup if verdict.timing else 0.0, constants)
    tried, passed = verdict.evidence.get("inputs_tried", 0), verdict.evidence.get("inputs_passed", 0)
    return ladder(passed / tried if verdict.outcome is Outcome.WRONG and 0 < passed < tried else 0.0)


@dataclass(frozen=True, slots=True)
class Echo:
    """PrimeEcho's constants."""

    weight: float = 0.75  # alpha, of the first turn (paper)
    turns: int = 3  # paper
    early: tuple[float, ...] = (0.15, 0.08)  # bonus for first success at turn 1, at turn 2 (ours)


def prime_echo(scores: Sequence[float], passed: Sequence[bool], constants: Echo = Echo()) -> float:
    """R = alpha * s_first + (1 - alpha) * max_k s_k + b_early, over the turns that were played.

    >>> round(prime_echo([-1.0, 1.0], [False, True]), 3)  # 0.75 * -1 + 0.25 * 1 + 0.08
    -0.42
    """
    if not scores:
        raise ValueError("a trajectory has at least one turn: give its score")
    first = next((turn for turn, ok in enumerate(passed) if ok), len(constants.early))
    bonus = constants.early[first] if first < len(constants.early) else 0.0
    return constants.weight * scores[0] + (1 - constants.weight) * max(scores) + bonus


def mirror_pop(log_ratio: Tensor, mask: Tensor, delta: float) -> Tensor:
    """1 keeps a sequence, 0 drops it, shape (B, 1): mean over its tokens of |log ratio| <= delta.

    Signed means let drift up and drift down cancel; this cannot. A sequence without tokens is kept (it moves nothing).

    >>> mirror_pop(torch.tensor([[0.4, -0.4], [0.1, 0.1]]), torch.ones(2, 2), delta=0.2).flatten().tolist()
    [0.0, 1.0]
    """
    size = (torch.nan_to_num(log_ratio.abs(), nan=0.0) * mask).sum(1, keepdim=True)
    return (size / mask.sum(1, keepdim=True).clamp(min=1.0) <= delta).to(mask.dtype)


class MirrorPop(GroupTrainer):
    """Drops drifted sequences: delta is TRL's `off_policy_mask_threshold`, whose own signed filter this replaces.

    Acts once a batch of answers is used for more than one optimiser pass, or sampled by another engine.
    """

    @staticmethod
    def get_off_policy_mask(
        advantages: Tensor,
        per_token_logps: Tensor,
        sampling_per_token_logps: Tensor,
        mask: Tensor,
        off_policy_threshold: float,
    ) -> Tensor:
        return mirror_pop(per_token_logps.detach() - sampling_per_token_logps, mask, off_policy_threshold)


@dataclass(frozen=True, slots=True)
class Failure:
    """A prompt that no answer of its group solved, with one failed code and the verifier's message."""

    row: dict[str, Any]  # the trainer's columns of that prompt
    code: str
    error: str


class RetryBuffer:
    """Bounded FIFO of all-failed prompts; `take` hands one out with a small probability.

    Equal on every process, if all push the same failures in the same order: `take` draws from (seed, step, group).

    >>> buffer = RetryBuffer(capacity=1, probability=1.0)
    >>> buffer.push(Failure({"prompt": "a"}, "x", "boom")); buffer.push(Failure({"prompt": "b"}, "y", "bang"))
    >>> buffer.take(step=1, group=0).row["prompt"], buffer.take(step=1, group=1)
    ('b', None)
    """

    def __init__(self, capacity: int = 64, probability: float = 0.1, seed: int = 0) -> None:
        """Capacity and probability are ours."""
        self.failures: deque[Failure] = deque(maxlen=capacity)
        self.probability, self.seed = probability, seed

    def push(self, failure: Failure) -> None:
        self.failures.append(failure)

    def take(self, step: int, group: int) -> Failure | None:
        draw = random.Random(f"{self.seed}/{step}/{group}").random()  # noqa: S311
        return self.failures.popleft() if self.failures and draw < self.probability else None

    def state(self) -> list[dict[str, Any]]:
        return [{"row": f.row, "code": f.code, "error": f.error} for f in self.failures]

    def restore(self, state: Sequence[dict[str, Any]]) -> None:
        self.failures = deque((Failure(**f) for f in state), maxlen=self.failures.maxlen)


class DynamicRetry(GroupTrainer):
    """Buffered Dynamic Retry: whole groups are replaced before sampling, all-failed groups are kept after it."""

    retry: RetryBuffer
    style: Style = "compact"

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        if not self.model.training:
            return super()._generate_and_score_completions(inputs)
        n, rank, G = len(inputs), self.accelerator.process_index, self.num_generations or 1
        groups = n * self.accelerator.num_processes // G
        replayed = {g: f for g in range(groups) if (f := self.retry.take(self.state.global_step, g))}
        mine = [self._row(replayed.get((rank * n + i) // G), row) for i, row in enumerate(inputs)]
        out = super()._generate_and_score_completions(mine)
        sampled = gather_object([(row, facts) for row, facts in zip(mine, self._rows(), strict=True)])
        for g in range(groups):
            self._remember(sampled[g * G : (g + 1) * G])
        self._facts |= {"retry/replayed": len(replayed), "retry/waiting": len(self.retry.failures)}
        return out

    def _row(self, failure: Failure | None, row: dict[str, Any]) -> dict[str, Any]:
        if failure is None:
            return {**row, "retried": False}
        asked = repair_prompt(failure.row["ask"], failure.code, failure.error, self.style)
        return {**failure.row, "prompt": as_model_input(asked, self.processing_class, self.style), "retried": True}

    def _remember(self, group: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """A group that all failed waits for a replay; a replay that fails again does not."""
        judged = [(row, facts) for row, facts in group if facts["outcome"] not in NOT_JUDGED]
        if judged and not judged[0][0]["retried"] and all(facts["outcome"] != Outcome.PASS for _, facts in judged):
            row, facts = judged[0]
            self.retry.push(Failure(row, facts["answer"]["text"], facts["verdict"]["message"]))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        # Before the rest: the trainer's state is written last and says that the checkpoint is whole.
        folder = Path(str(self.args.output_dir)) / f"checkpoint-{self.state.global_step}"
        if self.args.should_save:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "retry.json").write_text(json.dumps(self.retry.state()), encoding="utf-8")
        super()._save_checkpoint(model, trial)

    def _load_optimizer_and_scheduler(self, checkpoint: Any) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is not None:
            self.retry.restore(json.loads((Path(checkpoint) / "retry.json").read_text(encoding="utf-8")))


@dataclass
class EchoReward:
    """MusaCoder's reward: the ladder on one turn (`turns=1`), PrimeEcho over several.

    Later turns go through TRL's `rollout_func`: they are played and judged, but only the first answer is returned, so
    only it carries a gradient.
    """

    first: CoderReward
    constants: Echo = field(default_factory=Echo)
    rungs: Ladder = field(default_factory=Ladder)
    style: Style = "compact"
    earned: list[float | None] = field(default_factory=list)

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """TRL's `rollout_func`: prompts (repeated G times) -> ids of the first answers; scores are kept here."""
        rows = trainer.current_inputs
        columns = {key: [row[key] for row in rows] for key in ("task_id", "backend", "ask")}
        prompt_ids, _, _ = trainer._tokenize_prompts(prompts)
        ids, verdicts = self._turn(trainer, prompt_ids, columns)
        facts = self.first.rows
        played: list[list[Verdict]] = [[v] for v in verdicts]
        answers = [row["answer"]["text"] for row in facts]
        for _ in range(1, self.constants.turns):
            open_ = [i for i, turns in enumerate(played) if turns[-1].judged and not turns[-1].passed]
            if not open_:
                break
            asked = [repair_prompt(columns["ask"][i], answers[i], played[i][-1].message, self.style) for i in open_]
            asked = [as_model_input(text, trainer.processing_class, self.style) for text in asked]
            next_ids, _, _ = trainer._tokenize_prompts(asked)
            _, found = self._turn(trainer, next_ids, {k: [v[i] for i in open_] for k, v in columns.items()})
            for i, verdict, row in zip(open_, found, self.first.rows, strict=True):
                played[i].append(verdict)
                answers[i] = row["answer"]["text"]
        self.earned = [self.score(turns) for turns in played]
        self.first.rows = [{**row, "turns": len(turns)} for row, turns in zip(facts, played, strict=True)]
        return {"prompt_ids": prompt_ids, "completion_ids": ids, "logprobs": None}

    def _turn(self, trainer: Any, prompt_ids: list, columns: dict[str, list[Any]]) -> tuple[list, list[Verdict]]:
        ids, _ = trainer._generate_single_turn(prompt_ids, None, {}, trainer.num_generations)
        texts = trainer.processing_class.batch_decode(ids, skip_special_tokens=True)
        self.first.correct(texts, ids, columns["task_id"], columns["backend"])
        return ids, self.first.verdicts

    def score(self, turns: Sequence[Verdict]) -> float | None:
        """R of one trajectory. A first turn nobody could judge is None; a later one is left out."""
        scores = [rung(v, self.rungs) for v in turns]
        if scores[0] is None:
            return None
        known = [(s, v.passed) for s, v in zip(scores, turns, strict=True) if s is not None]
        return prime_echo([s for s, _ in known], [ok for _, ok in known], self.constants)

    def reward(self, completions: Sequence[Any], **_: Any) -> list[float | None]:
        assert len(completions) == len(self.earned), "the reward is asked for after its rollout, on the same answers"
        return self.earned

    def last_rows(self) -> list[dict[str, Any]]:
        return self.first.rows


class EchoTrainer(GroupTrainer):
    """Lets the rollout see the columns of the rows it plays (TRL hands it the prompts alone)."""

    current_inputs: list[dict[str, Any]]

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        self.current_inputs = inputs
        return super()._generate_and_score_completions(inputs)
