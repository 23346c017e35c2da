"""What every training stage shares: a step log that survives a kill, checkpoints that are whole, device settings.

Source: reference notes P28 (resuming is worse than not stopping); issue 2 item 3.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback


class StepLog:
    """One JSON line a training step. After a resume, rows past the checkpoint's step are cut before new ones come."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def rewind(self, step: int) -> None:
        """Keep rows with `step` <= the given one; a torn last line goes too."""
        rows = [row for row in read_steps(self.path) if row["step"] <= step]
        part = StepLog(self.path.with_suffix(".part"))
        part.path.unlink(missing_ok=True)
        part.append(*rows)
        part.path.replace(self.path)

    def append(self, *rows: dict[str, Any]) -> None:
        """Numbers that are not finite become null: other readers stop at NaN."""
        lines = "".join(json.dumps({k: _finite(v) for k, v in row.items()}, ensure_ascii=False) + "\n" for row in rows)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(lines)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_steps(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Rows of a step log; empty if the file is not there; a torn last line is left out."""
    path = Path(path)
    if not path.exists():
        return []
    *lines, _torn = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines]


class RewindStepLog(TrainerCallback):
    """Cuts logs back to the checkpoint's step before the first new step."""

    def __init__(self, *step_logs: StepLog) -> None:
        self.step_logs = step_logs

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            for log in self.step_logs:
                log.rewind(state.global_step)


class EveryStep(TrainerCallback):
    """Calls `action(step, model)` after each `every`-th optimiser step."""

    def __init__(self, action: Callable[[int, Any], None], every: int = 1) -> None:
        self.action, self.every = action, every

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        if state.global_step % self.every == 0:
            self.action(state.global_step, model)


class TimeIsUpError(RuntimeError):
    """Training stopped at a checkpoint because the runner's time is nearly used up; the same command goes on."""


class StopInTime(TrainerCallback):
    """Saves a checkpoint and ends training before the moment in `KZ_STOP_AT` (set by `kz run --minutes`).

    Without it a notebook is interrupted at that moment, and the steps since its last checkpoint are done again.
    """

    def __init__(self) -> None:
        self.until = float(os.environ.get("KZ_STOP_AT", "inf"))
        self.began, self.longest, self.stopping = time.time(), 0.0, False

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.began = time.time()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.longest = max(self.longest, time.time() - self.began)
        # Two steps and some seconds to save: a step may be longer than those before it.
        if time.time() + 2 * self.longest + 5 > self.until and state.global_step < state.max_steps:
            self.stopping = control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.stopping:
            raise TimeIsUpError(f"the time given is nearly used up: saved at step {state.global_step}")


def newest_checkpoint(folder: str | os.PathLike[str]) -> str | None:
    """The newest whole `checkpoint-N` in `folder`, or None; halves left by a killed writer are removed."""
    folder = Path(folder)
    found = sorted(folder.glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]), reverse=True)
    for checkpoint in found:
        if _whole(checkpoint):
            return str(checkpoint)
        shutil.rmtree(checkpoint)
    return None


def _whole(checkpoint: Path) -> bool:
    """transformers writes the trainer's state last, so a checkpoint with a readable one has everything before it."""
    state = checkpoint / "trainer_state.json"
    try:
        step = json.loads(state.read_text(encoding="utf-8"))["global_step"]
    except (OSError, ValueError, KeyError):
        return False
    return checkpoint.name == f"checkpoint-{step}"


def device_arguments(device: str) -> dict[str, Any]:
    """What transformers' trainers need on a device: fp32 on a CPU (bf16 is slower there), bf16 and fused Adam on a GPU.

    >>> device_arguments("cpu")["bf16"]
    False
    """
    shared = {"report_to": [], "disable_tqdm": True, "gradient_checkpointing": False, "logging_steps": 1}
    if device == "cpu":
        return {**shared, "use_cpu": True, "bf16": False, "optim": "adamw_torch", "dataloader_pin_memory": False}
    return {**shared, "bf16": True, "optim": "adamw_torch_fused"}


def resolve_device(device: str) -> str:
    """ "auto" is a GPU if there is one.

    >>> resolve_device("cpu")
    'cpu'
    """
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return device
