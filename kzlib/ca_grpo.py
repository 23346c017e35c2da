"""CA-GRPO: correctness-aware group-relative policy optimisation, as pure functions and one subclass of TRL's trainer.

    r_i  = c_i * (1 + T(G) * beta * S_i)        T(G) = 1 iff mean(c over G) >= alpha
    A_i  = (r_i - mean(r over G)) / std(r over G)

c_i: is answer i correct; S_i: its speedup over the reference; G: the answers to one module. An answer that was not
judged (our machine failed, the task is invalid) is NaN in c, leaves every statistic of its group, and gets A = 0.
Source: the paper's section on the Coder; `alpha = 0.5`, `beta = 0.1`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from accelerate.utils import gather_object
from torch import Tensor
from trl import GRPOTrainer

from kzlib import decoding
from kzlib.packing import pulling
from kzlib.records import NOT_JUDGED
from kzlib.seeds import child_seed
from kzlib.training import RewindStepLog, StepLog

# Nats a token between engine and trainer: bf16 alone makes about 0.02, weights of another step far more (P26).
MAX_LOGP_GAP = 0.3
SAMPLED_AT_ONCE = 512  # answers in one batch of the sampler: bounds the cache's memory

SpeedTerm = Literal["plain", "capped", "log"]
Normalisation = Literal["group", "mean_only"]


@dataclass(frozen=True, slots=True)
class CAGRPO:
    """The objective's constants. The first two are the paper's; every other default is the paper's plain form."""

    alpha: float = 0.5  # the gate opens at this group accuracy; above 1 it never opens
    beta: float = 0.1  # weight of the speedup
    speed: SpeedTerm = "plain"  # "capped": min(S, speed_cap); "log": log2(1 + S)
    speed_cap: float = 3.0  # only for speed="capped" (Dr. Kernel's value)
    noise_floor: float = 0.0  # relative spread of S below which a group's speed term is dropped; 0 = never
    normalisation: Normalisation = (
        "group"  # "mean_only": subtract the mean only (Dr. GRPO), so that beta keeps its size
    )
    epsilon: float = 1e-6  # added to the std (TRL: 1e-4); what is flat is decided apart


def as_groups(values: Sequence[float | None], group_size: int) -> Tensor:
    """A flat list, group after group, as a float64 tensor (groups, group_size); None (not judged) becomes NaN.

    >>> as_groups([1, 0, None, 1], 2).tolist()
    [[1.0, 0.0], [nan, 1.0]]
    """
    flat = torch.tensor([math.nan if v is None else float(v) for v in values], dtype=torch.float64)
    if group_size < 1 or flat.numel() % group_size:
        raise ValueError(
            f"{flat.numel()} answers do not make whole groups of {group_size}: give every module {group_size} answers"
        )
    return flat.view(-1, group_size)


def group_accuracy(c: Tensor) -> Tensor:
    """mean(c) over the judged answers of each group, shape (groups,); NaN where nothing was judged.

    >>> group_accuracy(as_groups([1, 0, None, None], 2)).tolist()
    [0.5, nan]
    """
    judged = ~torch.isnan(c)
    count = judged.sum(-1)
    mean = torch.where(judged, c, 0).sum(-1) / count.clamp(min=1)
    return torch.where(count > 0, mean, math.nan)


def gate(c: Tensor, alpha: float) -> Tensor:
    """T(G), shape (groups,), bool: does speed count in this group? Never where nothing was judged.

    >>> gate(as_groups([1, 0, 0, 0], 2), alpha=0.5).tolist()
    [True, False]
    """
    # 1e-9: a mean such as 0.9 of ten answers must not miss its own threshold by rounding.
    return group_accuracy(c) >= alpha - 1e-9


def speed_term(S: Tensor, c: Tensor, objective: CAGRPO) -> Tensor:
    """What stands for S_i in the reward, shape of S. A speed that was not measured, or is no positive number, is 0.

    >>> speed_term(torch.tensor([[1.0, 8.0]]), torch.ones(1, 2), CAGRPO(speed="capped")).tolist()
    [[1.0, 3.0]]
    """
    measured = torch.isfinite(S) & (S > 0) & (c > 0)
    S = torch.where(measured, S, 0)
    if objective.speed == "capped":
        S = S.clamp(max=objective.speed_cap)
    elif objective.speed == "log":
        S = torch.log2(1 + S)
    if objective.noise_floor > 0:
        high = S.amax(-1)
        low = torch.where(measured, S, math.inf).amin(-1)
        noise = (high - low) <= objective.noise_floor * high
        S = torch.where(noise.unsqueeze(-1), 0, S)
    return S


def reward_parts(c: Tensor, S: Tensor, objective: CAGRPO) -> tuple[Tensor, Tensor]:
    """The two summands of r, each (groups, G): c, and c * T(G) * beta * S. NaN in both where nothing was judged."""
    c = c.to(torch.float64)
    T = gate(c, objective.alpha).unsqueeze(-1).to(torch.float64)
    bonus = T * objective.beta * speed_term(S.to(torch.float64), c, objective)
    return c, torch.where(torch.isnan(c), math.nan, torch.nan_to_num(c) * bonus)


def reward(c: Tensor, S: Tensor, alpha: float = 0.5, beta: float = 0.1, objective: CAGRPO | None = None) -> Tensor:
    """r_i = c_i * (1 + T(G) * beta * S_i), shape (groups, G); NaN where the answer was not judged.

    >>> c, S = as_groups([1, 1, 0, 0], 4), as_groups([0.5, 3.0, 0, 9.0], 4)
    >>> [round(r, 2) for r in reward(c, S)[0].tolist()]
    [1.05, 1.3, 0.0, 0.0]
    >>> reward(c, S, alpha=0.9).tolist()
    [[1.0, 1.0, 0.0, 0.0]]
    """
    correct, bonus = reward_parts(c, S, objective or CAGRPO(alpha=alpha, beta=beta))
    return correct + bonus


def advantages(r: Tensor, normalisation: Normalisation = "group", epsilon: float = 1e-6) -> Tensor:
    """Group-relative advantages, shape of r: (r - mean) / (std + epsilon) over the judged answers of each group.

    Population standard deviation. A group with no spread (all alike, one judged, none judged) gets zeros, so does an
    answer that was not judged. Always finite.

    >>> [round(a, 2) for a in advantages(as_groups([1, 0, None, 1], 4))[0].tolist()]
    [0.71, -1.41, 0.0, 0.71]
    """
    r = r.to(torch.float64)
    judged = ~torch.isnan(r)
    count = judged.sum(-1, keepdim=True).clamp(min=1)
    values = torch.where(judged, r, 0)
    mean = values.sum(-1, keepdim=True) / count
    centred = torch.where(judged, r - mean, 0).nan_to_num()
    std = (centred.square().sum(-1, keepdim=True) / count).sqrt()
    # Rewards travel in float32: a spread of a few of its last digits is no spread.
    flat = std <= 1e-6 * mean.abs().clamp(min=1)
    scaled = centred / (std + epsilon) if normalisation == "group" else centred
    return torch.where(flat, 0, scaled)


def group_counts(c: Tensor, alpha: float) -> dict[str, float]:
    """What a step's groups look like: shares of all-fail, all-pass, gate-open and unjudged groups, and mean accuracy.

    >>> group_counts(as_groups([1, 1, 0, 0, 1, 0, None, None], 2), alpha=0.5)["groups/all_pass"]
    0.25
    """
    accuracy = group_accuracy(c)
    some = ~torch.isnan(accuracy)
    n = max(1, accuracy.numel())
    histogram = torch.histc(accuracy[some].float(), bins=5, min=0, max=1).tolist()
    return {
        "groups/all_fail": (accuracy == 0).sum().item() / n,
        "groups/all_pass": (accuracy == 1).sum().item() / n,
        "groups/gate_open": gate(c, alpha).sum().item() / n,
        "groups/unjudged": (~some).sum().item() / n,
        "groups/accuracy": accuracy[some].mean().item() if some.any() else 0.0,
        **{f"groups/accuracy_{k * 20}_{k * 20 + 20}": count / n for k, count in enumerate(histogram)},
    }


class GroupTrainer(GRPOTrainer):
    """TRL's GRPOTrainer with our group statistics, a step log, and every rollout kept.

    Reward functions see one process's slice, in which a group may be cut; `combine` sees whole groups, right after the
    gather, so rewards and advantages are the same on any number of processes.
    """

    model: Any  # the base class allows None, which no step of training meets

    objective = CAGRPO()

    def __init__(
        self,
        *args: Any,
        step_log: StepLog | None = None,
        rollout_log: StepLog | None = None,
        rows: Callable[[], list[dict[str, Any]]] = list,
        summary: Callable[[list[dict[str, Any]]], dict[str, Any]] = lambda rows: {},
        on_step: Callable[[dict[str, Any]], None] | None = None,
        max_unjudged: float = 0.5,
        **kwargs: Any,
    ) -> None:
        """`rows()`: this process's facts about the answers just scored; `summary`: a step's values from all rows."""
        super().__init__(*args, **kwargs)
        self.max_unjudged = max_unjudged
        self._step_log, self._rollout_log, self._on_step = step_log, rollout_log, on_step
        self._rows, self._summary = rows, summary
        self._facts: dict[str, Any] = {}
        self._sampler: Any = None
        self._scored: tuple[Tensor, Tensor] = (torch.empty(0), torch.empty(0))
        self.add_callback(RewindStepLog(*[log for log in (step_log, rollout_log) if log]))

    def combine(self, columns: Tensor) -> tuple[Tensor, ...]:
        """(groups, G, reward functions) -> the summands of the reward, each (groups, G), one a reward function."""
        return columns.unbind(-1)

    def _generate(self, prompts: list) -> Any:
        start = time.perf_counter()
        out = super()._generate(prompts)
        self._facts = {"seconds/generate": time.perf_counter() - start}
        return out

    def _generate_single_turn(self, prompt_ids: list, *rest: Any, **kwargs: Any) -> tuple[list, Any]:
        if self.use_vllm:
            # TRL seeds a colocated engine with the process's number alone (P27); it draws from this process's streams.
            with torch.random.fork_rng():
                torch.manual_seed(
                    child_seed(self.args.seed, "vllm", self.state.global_step, self.accelerator.process_index)
                )
                return super()._generate_single_turn(prompt_ids, *rest, **kwargs)
        model = self.accelerator.unwrap_model(self.model_wrapped)
        model.eval()
        if self._sampler is None:
            self._sampler = decoding.sampler_of(model)
        sampler = decoding.refreshed(self._sampler, model)  # what samples has the weights of this very step (P26)
        ids: list[list[int]] = []
        for start in range(0, len(prompt_ids), SAMPLED_AT_ONCE):
            ids += decoding.sample_rows(
                sampler, self._tokenizer, prompt_ids[start : start + SAMPLED_AT_ONCE],
                self.max_completion_length or 0, self.temperature, self.top_p,
            )  # fmt: skip
        model.train()
        return ids, None

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> Tensor:
        start = time.perf_counter()
        columns = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        G = self.num_generations if self.model.training else self.num_generations_eval
        grouped = columns.view(-1, G, columns.shape[1])
        parts = self.combine(grouped)
        r = torch.stack(parts).sum(0)
        self._scored = r, advantages(r, self.objective.normalisation, self.objective.epsilon)
        self._note(r, time.perf_counter() - start)
        return torch.stack([part.flatten() for part in parts], dim=1).to(columns)

    def _note(self, r: Tensor, seconds: float) -> None:
        unjudged = torch.isnan(r).double().mean().item()
        self._facts |= {"answers": r.numel(), "unjudged": unjudged, "seconds/verify": seconds}
        if unjudged > self.max_unjudged:
            raise RuntimeError(
                f"{unjudged:.0%} of a step's answers could not be judged (limit {self.max_unjudged:.0%}; most often "
                f"here: {_commonest_reason(self._rows())}): run `kz doctor`, then run this notebook again; it "
                "continues from its last checkpoint"
            )

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        out = super()._generate_and_score_completions(inputs)
        n, rank = len(out["advantages"]), self.accelerator.process_index
        r, a = (value.flatten()[rank * n : (rank + 1) * n] for value in self._scored)
        out["advantages"] = a.to(out["advantages"])
        rows = [
            {"step": self.state.global_step + 1, **row, "reward": value, "advantage": advantage}
            for row, value, advantage in zip(self._rows(), r.tolist(), a.tolist(), strict=False)
        ]
        rows = gather_object(rows)
        names = [row["outcome"] for row in rows if "outcome" in row]
        self._facts["outcomes"] = {name: names.count(name) for name in sorted(set(names))}
        self._facts |= self._summary(rows)
        # What a reward function did besides judging (the frozen Coder's sampling) is no part of judging.
        self._facts["seconds/verify"] -= self._facts.get("seconds/solve", 0.0)
        if self.accelerator.is_main_process and self._rollout_log and self.model.training:
            self._rollout_log.append(*rows)
        return out

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        # A KL penalty pulls on every row; only "dapo" divides by a number that does not change with the rows.
        exact = self.beta == 0 and self.loss_type == "dapo" and self.model.training
        return super()._compute_loss(model, pulling(inputs) if exact else inputs)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        training = self.model.training
        super().log(logs, start_time)
        if not training or "grad_norm" not in logs:  # the last log of a run is a summary without a step's values
            return
        gap = logs.get("sampling/sampling_logp_difference/mean") or 0.0
        if gap > MAX_LOGP_GAP:
            raise RuntimeError(
                f"the engine samples from other weights than are trained (they differ by {gap:.2f} nats a token): "
                "set engine to transformers, or run this notebook again from its newest checkpoint"
            )
        row = {"step": self.state.global_step, **self._facts, **_step_values(logs)}
        spent = sum(row.get(f"seconds/{part}", 0.0) for part in ("generate", "solve", "verify"))
        row["seconds/train"] = max(0.0, row.pop("step_time", 0.0) - spent)
        if self.accelerator.is_main_process:
            if self._step_log:
                self._step_log.append(row)
            if self._on_step:
                self._on_step(row)


class CAGRPOTrainer(GroupTrainer):
    """The Coder's trainer. `reward_funcs` are two: correctness c (1, 0, or None for not judged) and speedup S."""

    def __init__(self, *args: Any, objective: CAGRPO | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.objective = objective or CAGRPO()
        if len(self.reward_funcs) != 2:
            raise ValueError("CA-GRPO takes two reward functions, correctness and speedup: pass reward_funcs=[c, S]")

    def combine(self, columns: Tensor) -> tuple[Tensor, ...]:
        c, S = columns.unbind(-1)
        parts = reward_parts(c, S, self.objective)
        self._facts |= group_counts(c, self.objective.alpha)
        self._facts |= {"reward/correct": _mean(parts[0]), "reward/speed": _mean(parts[1])}
        return parts


def _mean(values: Tensor) -> float:
    return values.nanmean().nan_to_num().item()


def _step_values(logs: dict[str, Any]) -> dict[str, Any]:
    """The values of TRL's log that belong in our step log, under short names."""
    names = {
        "loss": "loss",
        "grad_norm": "grad_norm",
        "learning_rate": "learning_rate",
        "reward": "reward",
        "reward_std": "reward_std",
        "entropy": "entropy",
        "kl": "kl",
        "num_tokens": "tokens",
        "step_time": "step_time",
        "completions/mean_length": "answer_tokens",
        "completions/clipped_ratio": "cut_off",
        "frac_reward_zero_std": "groups/flat",
    }
    return {ours: logs[theirs] for theirs, ours in names.items() if theirs in logs}


def _commonest_reason(rows: Sequence[Mapping[str, Any]]) -> str:
    """What was said most often of answers that could not be judged; rows as reward functions keep them."""
    judged = [v for row in rows for v in (row.get("verdict") or row, *row.get("coder_verdicts", ()))]
    said = Counter(f"{v['outcome']}, {v['message']}" for v in judged if v.get("outcome") in NOT_JUDGED)
    return said.most_common(1)[0][0] if said else "none of this process's answers"
