"""The compiled baseline: how much faster `torch.compile` makes a task's reference, timed on a GPU in its own process.

References compile side by side on the CPU; only the timed calls take turns on the device. What was timed is kept as it
comes, so that a killed notebook does not compile it again. The verifier's speedups are over PyTorch eager. Multiplied
by compiled time over eager time, they are over the compiled reference. On a CPU nothing is timed, so there is no
compiled baseline. Source: issue 8 item 2.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kzlib.environment import ROOT
from kzlib.metrics import Attempt
from kzlib.records import Task

KEPT = ("PATH", "HOME", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Median times of one task's reference in microseconds; None with the reason where it could not be timed."""

    task_id: str
    eager_us: float | None
    compiled_us: float | None
    reason: str = ""


def time_baselines(
    tasks: Iterable[Task],
    device: str = "cuda",
    seconds: float = 300.0,
    kept: Path | None = None,
) -> list[Baseline]:
    """Time every reference eager and compiled, interleaved, each task in a child process with a deadline.

    `kept`: a JSON-lines file of what is known already; new results are appended to it as they come.
    """
    tasks = list({task.id: task for task in tasks}.values())
    known = {row.task_id: row for row in _read(kept)}
    missing = [task for task in tasks if task.id not in known]
    workers = max(4, 3 * len(os.sched_getaffinity(0)) // 4)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        turn = Path(folder) / "turn"
        turn.touch()
        for row in pool.map(lambda task: _time_one(task, device, seconds, turn), missing):
            known[row.task_id] = row
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(dataclasses.asdict(row)) + "\n")
    return [known[task.id] for task in tasks]


def _read(path: Path | None) -> Iterator[Baseline]:
    """Whole lines only: the last one may be torn."""
    if path is not None and path.exists():
        lines = path.read_text(encoding="utf-8").split("\n")
        yield from (Baseline(**json.loads(line)) for line in lines[:-1])
        if lines[-1]:
            path.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")


def _time_one(task: Task, device: str, seconds: float, turn: Path) -> Baseline:
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | {"PYTHONPATH": str(ROOT)}
    environment["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # tasks compile side by side: a pool in each would only crowd
    request = json.dumps({"source": task.source, "device": device, "turn": str(turn)})
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "kzlib.baseline_child"], input=request, capture_output=True, text=True,
                timeout=seconds, cwd=folder, env=environment, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Baseline(task.id, None, None, f"not done in {seconds:.0f} s")
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return Baseline(task.id, None, None, (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:300])
    found = json.loads(lines[-1])
    return Baseline(task.id, float(found["eager_us"]), float(found["compiled_us"]))


def over_compiled(attempts: Iterable[Attempt], baselines: Iterable[Baseline]) -> list[Attempt]:
    """The same attempts with speedups over the compiled reference; a task without that baseline loses its times.

    >>> from kzlib.records import Outcome
    >>> eager = [Attempt("t", 0, Outcome.PASS, speedup=2.0, timing_kind="measured")]
    >>> over_compiled(eager, [Baseline("t", 100.0, 40.0)])[0].speedup
    0.8
    """
    known: Mapping[str, float] = {
        b.task_id: b.compiled_us / b.eager_us for b in baselines if b.eager_us and b.compiled_us
    }
    return [
        dataclasses.replace(item, speedup=item.speedup * known[item.task_id])
        if item.speedup is not None and item.task_id in known
        else dataclasses.replace(item, speedup=None, timing_kind=None)
        for item in attempts
    ]
