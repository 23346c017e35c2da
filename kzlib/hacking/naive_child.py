"""The naive check's process: a textbook harness, with every mistake on purpose. It runs in the verifier's sandbox.

The reference, its answer, the comparison and the clock share one process with the candidate; one input set from a known
seed; a tolerance that does not look at the values' size; the same inputs in every timed call. Source: issue 9 item 2;
the habits are those of section 4 of the catalogue of cheats (A4, A14, B1-B7, B11, B19, B30).
"""

from __future__ import annotations

import importlib.util
import os
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kzlib.verifier import wire

SEED = 42
TOLERANCE = 1e-2
CALLS = 20


def warm_up() -> None:
    """Before any fork: import Triton and run a kernel once, so that no child pays for it."""
    torch.set_num_threads(1)
    from kzlib.verifier import warm_kernel

    warm_kernel.run()


def main(channel: socket.socket, walls: list[str]) -> None:
    """Judge one candidate as a harness would that trusts it; the exit code says the same as the report."""
    job = wire.receive(channel)
    try:
        report = evaluate(job["task"], job["candidate"])
    except Exception as error:  # noqa: BLE001  generated code may raise anything: the report says what
        report = {"correct": False, "speedup": 0.0, "message": f"{type(error).__name__}: {str(error)[:200]}"}
    wire.send(channel, report)
    os._exit(0 if report["correct"] else 1)


def evaluate(task: str, candidate: str) -> dict[str, Any]:
    """Is it right, and how fast: both asked in the candidate's own process."""
    reference = load(task, "task")
    torch.manual_seed(SEED)
    model = reference.Model(*reference.get_init_inputs())
    torch.manual_seed(SEED)
    inputs = reference.get_inputs()
    with torch.no_grad():
        expected = model(*inputs)
        baseline = seconds_of(model, inputs)
        module = load(candidate, "candidate")
        torch.manual_seed(SEED)
        kernel = module.ModelNew(*reference.get_init_inputs())
        output = kernel(*inputs)
        correct = bool(torch.allclose(output, expected, rtol=TOLERANCE, atol=TOLERANCE))
        mine = seconds_of(kernel, inputs)
    return {"correct": correct, "speedup": baseline / max(mine, 1e-9), "message": "" if correct else "values differ"}


def seconds_of(model: Callable[..., Any], inputs: list[Any]) -> float:
    """Median time of a call, by the process's own clock."""
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        model(*inputs)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def load(source: str, name: str) -> ModuleType:
    """Import a text as a file (Triton reads kernels from theirs)."""
    path = Path.cwd() / f"naive_{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
