"""Cold start: supervised fine-tuning of both roles on the teacher's verified corpus, through TRL's SFTTrainer.

The loss is on the completion alone. A batch is a random draw, so that a step sees kernels of all kinds, packed into
lines, so that little time goes to padding; the whole order is drawn from the seed beforehand, so a resumed run sees the
same batches. Source: issue 6 item 7.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from kzlib.muon import MuonAdamW
from kzlib.packing import packed
from kzlib.prompts import Style, as_model_input, coder_prompts, proposer_prompt
from kzlib.proposals import Written
from kzlib.records import Candidate, Task
from kzlib.training import EveryStep, RewindStepLog, StepLog, StopInTime, device_arguments, newest_checkpoint

ROLE_TOKEN = re.compile(r"<\|\w+\|>")


@dataclass(frozen=True, slots=True)
class Example:
    """One supervised pair; only the completion is learned."""

    prompt: str
    completion: str


@dataclass(frozen=True, slots=True)
class SFTSettings:
    steps: int
    batch_size: int = 16
    learning_rate: float = 1e-3
    warmup: float = 0.05  # share of the steps
    weight_decay: float = 0.01
    max_tokens: int = 1024  # prompt and completion together
    eval_every: int = 0  # steps between held-out losses; 0 = only at the end
    save_every: int = 100
    seed: int = 0
    device: str = "cpu"
    muon: bool = False  # for models from scratch; a pretrained one keeps AdamW


class NothingToLearnError(ValueError):
    """Truncation or the template leaves no supervised token (P30)."""


def coder_examples(pairs: Iterable[tuple[Task, Candidate]], style: Style = "compact") -> list[Example]:
    """Module -> kernel."""
    pairs = list(pairs)
    prompts = coder_prompts([(task.source, c.backend) for task, c in pairs], style)
    return [Example(prompt, _answer(c.source, style)) for prompt, (_, c) in zip(prompts, pairs, strict=True)]


def proposer_examples(tasks: Iterable[Task | Written], style: Style = "compact") -> list[Example]:
    """API set -> module, for tasks that name their APIs; the prompt keeps their order."""
    return [Example(proposer_prompt(t.apis, style), _answer(t.source, style)) for t in tasks if t.apis]


def _answer(source: str, style: Style) -> str:
    return source.strip() + "\n" if style == "compact" else f"```python\n{source.strip()}\n```"


def encode(examples: Sequence[Example], tokenizer: Any, max_tokens: int, style: Style = "compact") -> Dataset:
    """Rows `input_ids` and `labels` (-100 over the prompt).

    A row that does not fit whole is left out: half a kernel teaches cutting off.
    Raises `NothingToLearnError` if fewer than half the rows fit, with the share and the first such rows.
    """
    rows, lost = [], []
    texts = [as_model_input(e.prompt, tokenizer, style) for e in examples]
    prompts = tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    answers = tokenizer([e.completion for e in examples], add_special_tokens=False)["input_ids"] if texts else []
    for i, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        if not answer or len(prompt) + len(answer) + 1 > max_tokens:
            lost.append((i, len(prompt), len(answer)))
            continue
        ids = [*prompt, *answer, tokenizer.eos_token_id]
        rows.append({"input_ids": ids, "labels": [-100] * len(prompt) + ids[len(prompt) :]})
    if len(lost) * 2 > len(examples) or not rows:
        listed = "; ".join(f"row {i}: prompt {p}, completion {a}" for i, p, a in lost[:5])
        raise NothingToLearnError(
            f"{len(lost)} of {len(examples)} rows ({len(lost) / max(1, len(examples)):.0%}) have no room for their "
            f"completion in {max_tokens} tokens ({listed or 'no rows given'}): raise max_tokens or shorten the prompts"
        )
    return Dataset.from_list(rows)


def batch_order(lengths: Sequence[int], batch_size: int, steps: int, seed: int) -> list[int]:
    """Row numbers for `steps` batches: shuffled passes over the rows, cut into batches, each sorted by length.

    Batches of one length would hold near copies: a step of 32 two-line kernels teaches nothing, and Muon, whose step
    does not shrink with the gradient, would still move all weights for it.

    >>> order = batch_order([5, 1, 7, 1], batch_size=2, steps=4, seed=0)
    >>> sorted(order[:4]), sorted(order[4:])
    ([0, 1, 2, 3], [0, 1, 2, 3])
    """
    draw = random.Random(seed)  # noqa: S311
    drawn: list[int] = []
    while len(drawn) < steps * batch_size:
        drawn += draw.sample(range(len(lengths)), len(lengths))
    starts = range(0, steps * batch_size, batch_size)
    return [i for k in starts for i in sorted(drawn[k : k + batch_size], key=lambda i: lengths[i])]


def micro_batches(settings: SFTSettings) -> int:
    """Parts in which a process works through its share of a batch: a pretrained model's do not fit a card at once.

    >>> micro_batches(SFTSettings(steps=1, batch_size=32)), micro_batches(SFTSettings(steps=1, muon=True))
    (8, 1)
    """
    return 1 if settings.muon else math.gcd(8, settings.batch_size // _processes() or 1)


def _processes() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


class _Log(TrainerCallback):
    """Rows of the step log: one a training step, one a held-out loss."""

    def __init__(
        self, log: StepLog | None, on_step: Callable[[dict[str, Any]], None] | None, tokens: Sequence[int]
    ) -> None:
        """`tokens[step]`: tokens of all rows seen by then, without padding (TRL's own count restarts on a resume)."""
        self.log, self.on_step, self.tokens = log, on_step, tokens

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        names = {"loss", "grad_norm", "learning_rate", "eval_loss", "mean_token_accuracy"}
        row = {
            "step": state.global_step,
            "tokens": self.tokens[state.global_step],
            **{k: v for k, v in logs.items() if k in names},
        }
        if state.is_world_process_zero and ("loss" in row or "eval_loss" in row):
            if self.log:
                self.log.append(row)
            if self.on_step:
                self.on_step(row)


def trainer_arguments(settings: SFTSettings, folder: str | os.PathLike[str], evaluates: bool) -> SFTConfig:
    """TRL's configuration: cosine learning rate after a warm-up, rows in the order they were drawn."""
    parts = micro_batches(settings)
    return SFTConfig(
        output_dir=str(folder),
        max_steps=settings.steps,
        per_device_train_batch_size=max(1, settings.batch_size // _processes() // parts),
        gradient_accumulation_steps=parts,  # the loss stays the mean over the whole batch's tokens
        per_device_eval_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=max(1, round(settings.warmup * settings.steps)),
        weight_decay=settings.weight_decay,
        adam_beta2=0.98,  # ours: short runs forget early gradients sooner
        max_grad_norm=1.0,
        max_length=settings.max_tokens,
        packing=False,  # `kzlib.packing` does: TRL's one long row would cost its length squared in SDPA's attention
        dataset_kwargs={"skip_prepare_dataset": True},  # labels are made by `encode`
        train_sampling_strategy="sequential",
        eval_strategy="steps" if evaluates and settings.eval_every else "no",
        eval_steps=settings.eval_every or None,
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=1,
        seed=settings.seed,
        **device_arguments(settings.device),
    )


def _optimizer(model: Any, settings: SFTSettings) -> MuonAdamW | None:
    """None leaves the choice to the trainer: AdamW."""
    if not settings.muon:
        return None
    return MuonAdamW(model.named_parameters(), settings.learning_rate, settings.weight_decay)


def cold_start(
    model: Any,
    tokenizer: Any,
    train: Dataset,
    heldout: Dataset | None,
    folder: str | os.PathLike[str],
    settings: SFTSettings,
    step_log: str | os.PathLike[str] | None = None,
    probe: Callable[[int, Any], None] | None = None,
    probe_every: int = 0,
    on_step: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """Train `model` in place and return the step log's rows; continues from the newest whole checkpoint in `folder`.

    `probe(step, model)` runs every `probe_every` steps (the held-out pass rate); `on_step(row)` after each log line.
    """
    lengths = [len(ids) for ids in train["input_ids"]]
    order = batch_order(lengths, settings.batch_size, settings.steps, settings.seed)
    size = settings.batch_size
    tokens = [0, *accumulate(sum(lengths[i] for i in order[k : k + size]) for k in range(0, len(order), size))]
    log = StepLog(step_log) if step_log else None
    trainer = SFTTrainer(
        model=model,
        args=trainer_arguments(settings, folder, heldout is not None),
        train_dataset=train.select(order),
        eval_dataset=heldout,
        processing_class=tokenizer,
        data_collator=partial(packed, padding=tokenizer.pad_token_id),
        optimizers=(_optimizer(model, settings), None),
        callbacks=[_Log(log, on_step, tokens), *([RewindStepLog(log)] if log else [])],
    )
    trainer.remove_callback(PrinterCallback)
    if probe and probe_every:
        trainer.add_callback(EveryStep(probe, probe_every))
    trainer.add_callback(StopInTime())
    checkpoint = newest_checkpoint(folder)
    trainer.train(resume_from_checkpoint=checkpoint)
    return [row for row in trainer.state.log_history if "loss" in row or "eval_loss" in row]


def texts(examples: Iterable[Example]) -> list[str]:
    """Prompts and completions without role tokens: what a tokenizer is trained on.

    >>> texts([Example("<|coder|>a<|kernel|>", "b")])
    ['a', 'b']
    """
    return [ROLE_TOKEN.sub("", text) for e in examples for text in (e.prompt, e.completion)]
