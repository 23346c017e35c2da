"""The two roles take turns: train the Proposer against the frozen Coder, harvest modules, train the Coder on them.

One round = `proposer_phase` -> `harvest` -> `coder_phase`. Every phase continues from its newest whole checkpoint and
keeps every module, answer and verdict. Source: the paper's schedule (4 rounds of 20 + 20 steps); DESIGN section 8.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset
from transformers import PrinterCallback
from trl import GRPOConfig

from kzlib import policy, stabilizers
from kzlib.ca_grpo import CAGRPO, CAGRPOTrainer, GroupTrainer
from kzlib.prompts import Style, as_model_input, coder_prompt, proposer_prompt
from kzlib.records import Answer, Backend, Task, Verdict, append_jsonl, from_json
from kzlib.rewards import CoderReward, ProposerReward, Solve, coder_summary
from kzlib.seeds import child_seed
from kzlib.training import StepLog, StopInTime, device_arguments, newest_checkpoint, read_steps
from kzlib.workspace import Run

OnStep = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """One RL phase: a step samples `prompts_per_step` prompts, `group_size` answers each."""

    steps: int
    prompts_per_step: int
    group_size: int
    micro_batch: int
    learning_rate: float
    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    save_every: int = 5
    kl: float = 0.0  # the paper's beta_KL is not known; 0 needs no reference model
    seed: int = 0
    device: str = "cpu"
    engine: Literal["transformers", "vllm"] = "transformers"  # what samples while training; vLLM shares the GPU
    processes: int = 1


def trainer_arguments(settings: GroupSettings, folder: str | os.PathLike[str], **changes: Any) -> GRPOConfig:
    """TRL's configuration of a phase: one batch of answers a step, learning rate constant after one step of warm-up.

    vLLM shares the training GPUs, unless `KZ_VLLM_SERVER` names a `trl vllm-serve` (its URL).
    """
    answers = settings.prompts_per_step * settings.group_size
    per_process = answers // settings.processes
    micro = min(settings.micro_batch, per_process)
    if settings.group_size < 2 or answers % settings.processes or per_process % micro:
        raise ValueError(
            f"{answers} answers a step ({settings.prompts_per_step} prompts in groups of {settings.group_size}) do not "
            f"split over {settings.processes} processes in batches of {micro}: groups have two answers or more, and "
            f"processes x micro_batch divides the answers; micro_batch 1 or {max(1, per_process)} work"
        )
    generation: dict[str, Any] = {}
    if settings.engine == "vllm":
        generation = {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.3}
        if server := os.environ.get("KZ_VLLM_SERVER"):
            generation = {"use_vllm": True, "vllm_mode": "server", "vllm_server_base_url": server}
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=settings.steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=per_process // micro,
        num_generations=settings.group_size,
        max_completion_length=settings.max_new_tokens,
        temperature=settings.temperature,
        top_p=settings.top_p,
        top_k=0,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=1,
        beta=settings.kl,
        max_grad_norm=1.0,
        loss_type="dapo",
        ddp_find_unused_parameters=False,
        shuffle_dataset=False,  # the order of prompts is drawn beforehand
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=1,
        seed=settings.seed,
        **generation,
        **device_arguments(settings.device),
        **changes,
    )


FRONTIER_PASSES = 4  # turns of modules solved now and then before others have one (ours): flat groups teach nothing


def draw(
    items: Sequence[Any], wanted: int, seed: int, first: Callable[[Any], bool] = lambda item: True, passes: int = 1
) -> list[Any]:
    """`wanted` items in a seeded order: `passes` times those that `first` prefers, then the others, then round again
    if they run out; all mixed, so that a curve over steps shows training and not who came first.

    >>> sorted(draw(["a", "b"], 3, seed=1, first=lambda item: item == "b", passes=2))
    ['a', 'b', 'b']
    """
    if not items:
        raise ValueError("there is nothing to draw from: run the stage before this one again with a larger harvest")
    shuffle = random.Random(seed).shuffle  # noqa: S311
    order = list(items)
    shuffle(order)
    order = [i for i in order if first(i)] * passes + [i for i in order if not first(i)]
    drawn = [order[i % len(order)] for i in range(wanted)]
    shuffle(drawn)
    return drawn


def learnable_sets(
    sets: Sequence[tuple[str, ...]], corpus: Sequence[Task], wanted: int, seed: int
) -> tuple[list[tuple[str, ...]], str]:
    """Sets whose every API the cold start showed, and a sentence about it; the corpus' own sets fill up to `wanted`.

    >>> learnable_sets([("a", "b"), ("a", "z")], [Task("m", apis=("a", "b", "c"))], wanted=2, seed=0)
    ([('a', 'b'), ('a', 'b', 'c')], '1 of 2 sets use only APIs of the corpus; 1 of the corpus fill up to 2')
    """
    known = {name for task in corpus for name in task.apis}
    kept = [s for s in sets if set(s) <= known]
    said = f"{len(kept)} of {len(sets)} sets use only APIs of the corpus"
    own = sorted({task.apis for task in corpus if task.apis} - set(kept))
    random.Random(seed).shuffle(own)  # noqa: S311
    added = own[: max(0, wanted - len(kept))]
    return kept + added, said + (f"; {len(added)} of the corpus fill up to {wanted}" if added else "")


def solver(
    coder: Any, tokenizer: Any, backend: Backend, style: Style, max_new_tokens: int, temperature: float, seed: int
) -> Solve:
    """The frozen Coder: modules -> answers, all modules of a call in one batch; the seed follows from the modules."""

    def solve(tasks: list[Task], k: int) -> Sequence[Sequence[policy.Generation]]:
        prompts = [as_model_input(coder_prompt(task.source, backend, style), tokenizer, style) for task in tasks]
        drawn = child_seed(seed, "solve", *(task.id for task in tasks), k)
        return policy.generate(coder, tokenizer, prompts, k, max_new_tokens, temperature, seed=drawn)

    return solve


def proposer_phase(
    proposer: Any,
    tokenizer: Any,
    api_sets: Sequence[tuple[str, ...]],
    reward: ProposerReward,
    settings: GroupSettings,
    folder: Path,
    style: Style = "compact",
    on_step: OnStep | None = None,
) -> list[dict[str, Any]]:
    """Train the Proposer in place by group-relative advantages of the frontier reward; returns the step log's rows."""
    sets = draw(api_sets, settings.steps * settings.prompts_per_step, child_seed(settings.seed, "sets"))
    rows = [{"prompt": as_model_input(proposer_prompt(s, style), tokenizer, style), "apis": list(s)} for s in sets]
    plan = Plan(GroupTrainer, [reward.reward], reward.last_rows, reward.summary)
    return _train(plan, proposer, tokenizer, rows, settings, folder, on_step)


def coder_phase(
    coder: Any,
    tokenizer: Any,
    pool: Sequence[Task],
    rates: Mapping[str, float],
    reward: CoderReward,
    settings: GroupSettings,
    folder: Path,
    objective: CAGRPO = CAGRPO(),  # noqa: B008
    backends: Sequence[Backend] = ("triton",),
    style: Style = "compact",
    stabilizers: Sequence[str] = (),
    on_step: OnStep | None = None,
) -> list[dict[str, Any]]:
    """Train the Coder in place by CA-GRPO on the harvested modules, those solved now and then first and more often.

    `stabilizers` names what of MusaCoder's is on: "mirror_pop", "dynamic_retry", "ladder", "prime_echo" (the last two
    replace CA-GRPO's reward by their own).
    """
    wanted = settings.steps * settings.prompts_per_step
    open_ones = {task_id for task_id, rate in rates.items() if 0 < rate < 1}
    tasks = draw(pool, wanted, child_seed(settings.seed, "modules"), lambda t: t.id in open_ones, FRONTIER_PASSES)
    rows = []
    for i, task in enumerate(tasks):
        backend = backends[i % len(backends)]
        ask = coder_prompt(task.source, backend, style)
        prompt = as_model_input(ask, tokenizer, style)
        rows.append({"prompt": prompt, "ask": ask, "task_id": task.id, "backend": backend})
    plan = stabilized(stabilizers, reward, objective, settings, style)
    return _train(plan, coder, tokenizer, rows, settings, folder, on_step)


@dataclass(frozen=True)
class Plan:
    """Who trains on what: the trainer's class, its reward functions and other arguments, facts about each answer."""

    trainer: type[GroupTrainer]
    rewards: list[Any]
    facts: Callable[[], list[dict[str, Any]]]
    summary: Callable[[list[dict[str, Any]]], dict[str, Any]]
    extra: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    prepare: Callable[[Any], None] = lambda trainer: None


def stabilized(
    names: Sequence[str], reward: CoderReward, objective: CAGRPO, settings: GroupSettings, style: Style
) -> Plan:
    """The Coder's plan: CA-GRPO, with the stabilisers named mixed in."""
    unknown = set(names) - {"mirror_pop", "dynamic_retry", "ladder", "prime_echo"}
    if unknown:
        raise ValueError(f"no stabiliser is called {min(unknown)}: use mirror_pop, dynamic_retry, ladder or prime_echo")
    bases: list[type] = [CAGRPOTrainer]
    plan: dict[str, Any] = {"rewards": [reward.correct, reward.speed], "extra": {"objective": objective}, "config": {}}
    if {"ladder", "prime_echo"} & set(names):
        constants = stabilizers.Echo() if "prime_echo" in names else stabilizers.Echo(weight=1.0, turns=1, early=())
        echo = stabilizers.EchoReward(reward, constants, style=style)
        bases = [stabilizers.EchoTrainer]
        plan |= {"rewards": [echo.reward], "extra": {"rollout_func": echo.rollout}}
    if "mirror_pop" in names:
        bases.insert(0, stabilizers.MirrorPop)
        plan["config"] = {"off_policy_mask_threshold": 0.1, "num_iterations": 2}  # both ours
    buffer = stabilizers.RetryBuffer(seed=settings.seed)
    if "dynamic_retry" in names:
        bases.insert(0, stabilizers.DynamicRetry)
        plan["prepare"] = lambda trainer: trainer.__dict__.update(retry=buffer, style=style)
    kind = bases[0] if len(bases) == 1 else type("StabilizedTrainer", tuple(bases), {})
    return Plan(kind, facts=reward.last_rows, summary=coder_summary, **plan)


def _train(
    plan: Plan, model: Any, tokenizer: Any, rows: list[dict[str, Any]], settings: GroupSettings, folder: Path,
    on_step: OnStep | None,
) -> list[dict[str, Any]]:  # fmt: skip
    steps, rollouts = StepLog(folder / "steps.jsonl"), StepLog(folder / "rollouts.jsonl")
    if settings.steps == 0:  # an untrained role (ablation): an empty log, so that later stages find one
        steps.append()
        rollouts.append()
        return []
    trainer: Any = plan.trainer(
        model=model,
        reward_funcs=plan.rewards,
        args=trainer_arguments(settings, folder, **plan.config),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        step_log=steps,
        rollout_log=rollouts,
        rows=plan.facts,
        summary=plan.summary,
        on_step=on_step,
        **plan.extra,
    )
    plan.prepare(trainer)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(StopInTime())
    trainer.train(resume_from_checkpoint=newest_checkpoint(folder))
    trainer.model.eval()
    return read_steps(steps.path)


def harvest(
    proposer: Any,
    tokenizer: Any,
    api_sets: Sequence[tuple[str, ...]],
    reward: ProposerReward,
    wanted: int,
    settings: GroupSettings,
    folder: Path,
    style: Style = "compact",
    batch: int = 16,
    tries: int = 6,
    on_batch: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """Modules for held-out API sets: proposed, validated, solved K times, until `wanted` are valid.

    Bounded: at most `tries` times as many sets are used. Returns one row a proposal (`valid`, `p`, `task`, the Coder's
    answers and verdicts). A killed harvest continues with the next batch of sets; batches are seeded by their number.
    """
    log = StepLog(folder / "harvest.jsonl")
    rows = read_steps(log.path)
    done = max((row["step"] for row in rows), default=0)
    log.rewind(done)
    sets = draw(api_sets, min(len(api_sets), tries * wanted), child_seed(settings.seed, "harvest"))
    seen = {row["task"]["id"] for row in rows if row["valid"]}
    for number in range(done + 1, -(-len(sets) // batch) + 1):
        if len(seen) >= wanted:
            break
        chosen = sets[(number - 1) * batch : number * batch]
        new = [
            {"step": number, **row} for row in _propose(proposer, tokenizer, chosen, reward, settings, style, number)
        ]
        for row in new:  # the same module twice is one module
            if row["valid"] and row["task"]["id"] in seen:
                row |= {"valid": False, "gate": "seen", "outcome": "seen"}
            elif row["valid"]:
                seen.add(row["task"]["id"])
        log.append(*new)
        if on_batch:
            on_batch(len(seen), wanted)
    return read_steps(log.path)


def _propose(
    proposer: Any, tokenizer: Any, sets: Sequence[tuple[str, ...]], reward: ProposerReward, settings: GroupSettings,
    style: Style, number: int,
) -> list[dict[str, Any]]:  # fmt: skip
    prompts = [as_model_input(proposer_prompt(s, style), tokenizer, style) for s in sets]
    seed = child_seed(settings.seed, "harvest", number)
    texts = policy.generate(
        proposer, tokenizer, prompts, 1, settings.max_new_tokens, settings.temperature, settings.top_p, seed
    )
    reward.score_texts([t[0] for t in texts], sets)
    return reward.last_rows()


def pool_of(rows: Iterable[Mapping[str, Any]]) -> tuple[list[Task], dict[str, float]]:
    """The harvest's valid modules and their solve rates (a module none of whose answers was judged has none)."""
    valid = [row for row in rows if row["valid"]]
    tasks = [from_json(Task, row["task"]) for row in valid]
    return tasks, {row["task"]["id"]: row["p"] for row in valid if row["p"] is not None}


def publish(run: Run, stage: str, rows: Iterable[Mapping[str, Any]], tasks: Iterable[Task] = ()) -> dict[str, int]:
    """Write a stage's modules, answers and verdicts to `records/<kind>.<stage>.jsonl`; returns how many of each."""
    found: dict[type, list[Any]] = {Task: list(tasks), Answer: [], Verdict: []}
    for record in records_of(rows):
        found[type(record)].append(record)
    found[Task] = list({task.id: task for task in found[Task]}.values())
    for kind, name in ((Task, "tasks"), (Answer, "answers"), (Verdict, "verdicts")):
        with run.replacing(f"records/{name}.{stage}.jsonl") as scratch:
            scratch.touch()
            append_jsonl(scratch, found[kind])
        run.record(f"{name}.{stage}", f"records/{name}.{stage}.jsonl", kind="records", rows=len(found[kind]))
    return {kind.__name__: len(records) for kind, records in found.items()}


def records_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Task | Answer | Verdict]:
    """Every module, answer and verdict that rollout or harvest rows hold."""
    for row in rows:
        if row.get("task"):
            yield from_json(Task, row["task"])
        yield from_json(Answer, row["answer"])
        if row.get("verdict"):
            yield from_json(Verdict, row["verdict"])
        for answer in row.get("coder_answers", ()):
            yield from_json(Answer, answer)
        for verdict in row.get("coder_verdicts", ()):
            yield from_json(Verdict, verdict)
