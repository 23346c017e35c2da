"""The settings of a run, one class a section, with the rules that tie them together.

A profile (`kzlib.params`) fills them; a notebook's parameters cell uses the same names. A setting is
here only if a notebook or the runner reads it; "paper" in a comment is KernelZero (arXiv 2609.33074).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class RunSection(_Section):
    seed: Whole  # root of every random stream of the run
    rounds: Count  # times that Proposer and Coder take turns (paper: 4)
    device: Literal["auto", "cpu", "cuda"]  # where models train; "auto" takes a GPU when there is one
    backends: Annotated[list[Literal["triton", "cuda"]], Field(min_length=1)]  # languages the Coder writes
    deadline_minutes: Positive  # longest time for one notebook; the runner then stops it


class SamplingSection(_Section):
    api_sets: Count  # API lists drawn (paper: 4,000)
    set_sizes: Annotated[list[Count], Field(min_length=1)]  # APIs in a list, in equal shares (paper: 2 and 3)
    sampler: Literal["cooccurrence", "uniform", "frontier"]  # how lists are drawn
    operator_classes: list[str]  # of the catalogue, the only ones drawn from; [] takes all 442 APIs
    most_used: Whole  # of these, only so many, those that real classes use most; 0 takes all
    proposer_prompts: Count  # of these, lists kept as the Proposer's training prompts (paper: 400)


class ModelSection(_Section):
    base: str  # Hub id or local folder of a causal LM; "" builds one from the numbers below
    kind: Literal["llama", "qwen2"]  # architecture built from scratch
    vocab_size: Annotated[int, Field(ge=300)]  # tokens of the byte-level BPE tokenizer
    layers: Count  # transformer blocks
    hidden: Count  # width of the residual stream
    heads: Count  # attention heads
    context: Count  # longest prompt and answer together (tokens)
    module_tokens: Count  # longest module that the Proposer may write (tokens)
    answer_tokens: Count  # longest answer that the Coder may write (tokens)
    prompt_style: Literal["compact", "instruct"]  # "compact" for from-scratch models
    engine: Literal["transformers", "vllm"]  # what generates

    @model_validator(mode="after")
    def _fits(self) -> ModelSection:
        if self.hidden % self.heads or (self.hidden // self.heads) % 2:
            low = max(2, self.hidden // self.heads // 2 * 2)
            raise ValueError(
                f"hidden ({self.hidden}) must be heads ({self.heads}) times an even number: "
                f"hidden: {low * self.heads} or hidden: {(low + 2) * self.heads} work"
            )
        if self.module_tokens + self.answer_tokens > self.context:
            raise ValueError(
                f"context ({self.context}) must hold a module and its answer "
                f"(module_tokens {self.module_tokens} + answer_tokens {self.answer_tokens}): "
                f"set context: {self.module_tokens + self.answer_tokens} or more"
            )
        return self


class CorpusSection(_Section):
    corpus_size: Count  # verified (module, kernel) pairs of the cold start
    corpus_asked: Share  # of them, for modules as the Proposer is asked for them; the others are the teacher's own
    corpus_families: list[str]  # op families of the teacher; [] takes all
    corpus_style: Literal["plain", "broad", "varied"]  # short; longer, with idioms; or dressed as people dress them
    corpus_from: str  # folder of the teacher's own, verified beforehand by `kz corpus`; "" verifies them here


class SftSection(_Section):
    sft_steps: Count  # optimiser steps of the Coder; the Proposer takes half as many
    sft_batch: Count  # samples a step
    sft_learning_rate: Positive  # peak, after warm-up
    sft_save_every: Count  # steps between checkpoints that a killed run continues from
    check_tasks: Count  # held-out modules sampled after the cold start
    check_samples: Count  # answers a held-out module
    check_temperature: Positive  # sampling temperature of these answers


class _GroupRL(_Section):
    """What both RL stages need: a step samples `prompts_per_step` prompts, `group_size` times each."""

    steps: Whole  # optimiser steps a round (paper: 20)
    prompts_per_step: Count  # different prompts a step
    group_size: Count  # samples a prompt, compared with one another (G)
    micro_batch: Count  # samples in one forward and backward pass
    learning_rate: Positive
    temperature: Positive  # sampling temperature
    top_p: Annotated[float, Field(gt=0, le=1)]  # nucleus kept when sampling
    save_every: Count  # steps between checkpoints that a killed run continues from

    @model_validator(mode="after")
    def _groups(self) -> _GroupRL:
        problem = group_problem(self.prompts_per_step, self.group_size, self.micro_batch)
        if problem:
            raise ValueError(problem)
        return self


class ProposerSection(_GroupRL):
    coder_samples: Annotated[int, Field(ge=2)]  # K answers of the frozen Coder a module: its mean correctness is p
    coder_temperature: Positive  # sampling temperature of the frozen Coder
    rho: Annotated[float, Field(lt=0)]  # reward of an invalid module
    proposals_on: Literal["device", "cpu"]  # where modules and their p are judged; "cpu": Triton's interpreter
    proposer_reward: Literal["frontier", "validity"]  # "validity" pays every valid module alike
    near_copies: Literal["share", "forbid"]  # copies in a group share one reward, or all but the first are invalid
    freeze_after_round: Whole  # the Proposer is not trained in later rounds; 0 trains it in all
    harvest: Count  # valid modules wanted for the Coder's prompts of the round


class CoderSection(_GroupRL):
    alpha: Annotated[float, Field(ge=0, allow_inf_nan=False)]  # group accuracy from which speed counts (1.1: never)
    beta: Annotated[float, Field(ge=0, allow_inf_nan=False)]  # weight of speed in the reward (paper: 0.1)
    speed: Literal["plain", "capped", "log"]  # how the speedup S enters the reward
    advantage: Literal["group", "mean_only"]  # divide by the group's deviation, or only subtract its mean
    stabilizers: list[Literal["ladder", "prime_echo", "dynamic_retry", "mirror_pop"]]  # of MusaCoder; [] for none
    screen: Literal["none", "interpreter"]  # what is wrong in the interpreter takes no GPU time


class EvaluationSection(_Section):
    eval_models: list[str]  # checkpoints, folders, Hub ids, servers; [] takes the cold start and last Coder
    benchmarks: Annotated[list[str], Field(min_length=1)]  # task sources: "heldout", "kernelbench:PATH:level1", ...
    eval_tasks: Count  # tasks taken from each
    eval_samples: Count  # answers a task (n)
    ks: Annotated[list[Count], Field(min_length=1)]  # k of pass@k and fast_p@k
    speed_thresholds: Annotated[list[Positive], Field(min_length=1)]  # p of fast_p@k
    eval_temperature: Positive  # sampling temperature
    eval_top_p: Annotated[float, Field(gt=0, le=1)]  # nucleus kept when sampling
    bootstrap: Count  # resamples of the tasks for an interval

    @model_validator(mode="after")
    def _enough(self) -> EvaluationSection:
        if max(self.ks) > self.eval_samples:
            raise ValueError(
                f"ks asks for pass@{max(self.ks)}, which needs that many answers, and eval_samples is "
                f"{self.eval_samples}: raise eval_samples to {max(self.ks)} or drop the larger ks"
            )
        return self


class VerifierSection(_Section):
    protocol: Literal["strict", "keck"]  # "keck" is the paper's published validator
    workers: Whole  # candidates judged at the same time; 0 takes the number of cores


class FiguresSection(_Section):
    figure_dpi: Annotated[int, Field(ge=50, le=1200)]  # dots per inch of the PNG files
    smooth_steps: Count  # steps averaged into the bold line of a training curve; 1 draws raw values only


class Params(_Section):
    """The whole profile, validated. `profile` is the file's name and the folder under `outputs/`."""

    profile: str
    run: RunSection
    sampling: SamplingSection
    model: ModelSection
    corpus: CorpusSection
    sft: SftSection
    proposer: ProposerSection
    coder: CoderSection
    evaluation: EvaluationSection
    verifier: VerifierSection
    figures: FiguresSection

    @model_validator(mode="after")
    def _prompts(self) -> Params:
        if self.sampling.proposer_prompts > self.sampling.api_sets:
            raise ValueError(
                f"sampling.proposer_prompts ({self.sampling.proposer_prompts}) are taken from sampling.api_sets "
                f"({self.sampling.api_sets}): make api_sets at least as large"
            )
        if self.proposer.proposals_on == "cpu" and self.run.backends[0] != "triton":
            raise ValueError(
                "proposer.proposals_on: cpu judges Triton kernels only, and the Coder's first language is "
                f"{self.run.backends[0]}: put triton first in run.backends, or set proposals_on: device"
            )
        return self

    def section_values(self, sections: Iterable[str]) -> dict[str, Any]:
        """The settings of some sections in one flat dict, as a notebook's parameters cell takes them.

        >>> from kzlib.params import load_profile
        >>> load_profile("smoke").section_values(["verifier"])["protocol"]
        'strict'
        """
        values: dict[str, Any] = {"profile": self.profile}
        for section in sections:
            values.update(getattr(self, section).model_dump())
        return values

    def digest(self) -> str:
        """Six hex digits of all values; part of a new run folder's name."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[:6]


SECTIONS: dict[str, type[_Section]] = {
    name: field.annotation  # type: ignore[misc]
    for name, field in Params.model_fields.items()
    if name != "profile"
}


def fields_of(sections: Iterable[str]) -> dict[str, str]:
    """Setting -> section, for every setting of the sections named; a name in two of them is an error.

    >>> fields_of(["verifier"])
    {'protocol': 'verifier', 'workers': 'verifier'}
    """
    found: dict[str, str] = {}
    for section in sections:
        for name in SECTIONS[section].model_fields:
            if name in found:
                raise ValueError(f"{name} is in both {found[name]} and {section}: one notebook cannot take both")
            found[name] = section
    return found


def group_problem(prompts: int, group: int, micro_batch: int, processes: int = 1) -> str | None:
    """Why these sizes cannot make a GRPO step, in words with two settings that work; None when they can.

    >>> group_problem(4, 8, 16) is None
    True
    >>> print(group_problem(2, 4, 3))
    micro_batch (3) must divide the 8 samples of a step (prompts_per_step 2 x group_size 4): micro_batch: 2 or ...
    """
    if group < 2:
        return (
            f"group_size is {group}: a group of one has no one to be compared with, so every advantage is 0; "
            "group_size: 4 or group_size: 8 work"
        )
    samples = prompts * group
    if samples % (micro_batch * processes) == 0:
        return None
    fits = [n for n in range(1, samples + 1) if samples % (n * processes) == 0]
    if not fits:
        return (
            f"the {samples} samples of a step (prompts_per_step {prompts} x group_size {group}) do not spread over "
            f"{processes} processes: prompts_per_step: {processes} or prompts_per_step: {2 * processes} work"
        )
    near = sorted(sorted(fits, key=lambda n: (abs(n - micro_batch), n))[:2])
    shared = f" over {processes} processes" if processes > 1 else ""
    return (
        f"micro_batch ({micro_batch}) must divide the {samples} samples of a step (prompts_per_step {prompts} x "
        f"group_size {group}){shared}: " + " or ".join(f"micro_batch: {n}" for n in near) + " work"
    )
