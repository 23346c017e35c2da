"""One notebook in a child process: started, followed, stopped at its deadline, and cleaned up after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.environment import ROOT
from kzlib.progress import MARK, duration
from kzlib.runner import processes

INTERRUPT_GRACE = 20.0  # seconds for the cell to save a checkpoint after it was interrupted
TERMINATE_GRACE = 5.0
STOPS: dict[int, str] = {signal.SIGINT: "interrupt", signal.SIGTERM: "terminate", signal.SIGALRM: "time"}
QUIET_SECONDS = 60.0  # after so long without a word, the runner says that the notebook is still at work


@dataclass(frozen=True)
class Job:
    """What to execute: paths are absolute, parameters are literals, `environment` adds to the caller's."""

    name: str
    notebook: Path
    scratch: Path
    log: Path
    parameters: dict[str, Any]
    environment: dict[str, str]
    run_id: str
    deadline: float  # seconds


@dataclass(frozen=True)
class Ended:
    """How the child ended. `report` is None when it died before it could tell."""

    returncode: int
    report: dict[str, Any] | None
    stopped: str  # "", "deadline", or one of STOPS
    seconds: float


def supervise(job: Job, say: Callable[[str], None], stop: Callable[[], int]) -> Ended:
    """Run the job to its end. `say` gets lines for the terminal, `stop` returns a signal that has arrived or 0."""
    reader, writer = os.pipe()
    start = time.monotonic()
    with job.log.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "kzlib.runner.execute"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            pass_fds=[writer],
            env={**os.environ, **_environment(job), **job.environment},
            cwd=ROOT,
            start_new_session=True,
        )
    os.close(writer)
    spec = {
        "notebook": str(job.notebook), "scratch": str(job.scratch), "log": str(job.log), "parameters": job.parameters,
        "cwd": str(job.notebook.parent), "report": writer, "parent": os.getpid(),
    }  # fmt: skip
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(spec).encode())
        child.stdin.close()
    except BrokenPipeError:
        pass  # it died at once; its return code says so below
    try:
        stopped = _follow(child, job, start, say, stop)
    finally:
        if child.poll() is None:
            _kill_all(child)
        processes.end(processes.marked("KZ_RUN_ID", job.run_id))
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read()
    report = json.loads(text) if text.endswith(b"\n") else None
    return Ended(child.wait(), report, stopped, time.monotonic() - start)


def _environment(job: Job) -> dict[str, str]:
    """What must be set before the kernel starts, because later is too late: hash order, BLAS workspace, paths."""
    program_folder = str(Path(sys.executable).parent)
    python_path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "KZ_HEADLESS": "1",
        "KZ_RUN_ID": job.run_id,
        "PYTHONHASHSEED": "0",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(python_path),
        "PATH": os.pathsep.join([program_folder, os.environ.get("PATH", os.defpath)]),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "TQDM_DISABLE": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


def _follow(
    child: subprocess.Popen[bytes], job: Job, start: float, say: Callable[[str], None], stop: Callable[[], int]
) -> str:
    spoken = time.monotonic()
    with job.log.open("rb") as log:
        log.seek(0, os.SEEK_END)
        rest = b""
        while child.poll() is None:
            rest, lines = _new_lines(log, rest)
            for line in lines[-1:]:
                say(f"{job.name}: {line}")
                spoken = time.monotonic()
            if time.monotonic() - spoken > QUIET_SECONDS:
                say(f"{job.name}: at work since {duration(time.monotonic() - start)}")
                spoken = time.monotonic()
            sign = stop()
            if sign or time.monotonic() - start > job.deadline:
                _stop(child)
                return STOPS.get(sign, "deadline")
            time.sleep(0.1)
        _, lines = _new_lines(log, rest)
        for line in lines[-1:]:
            say(f"{job.name}: {line}")
    return ""


def _new_lines(log: Any, rest: bytes) -> tuple[bytes, list[str]]:
    """Progress lines written since, and the unfinished last one."""
    *whole, rest = (rest + log.read()).split(b"\n")
    lines = [line.decode(errors="replace") for line in whole]
    return rest, [line.removeprefix(MARK) for line in lines if line.startswith(MARK)]


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Interrupt, wait, terminate, wait, kill."""
    processes.send(child.pid, signal.SIGINT)
    try:
        child.wait(INTERRUPT_GRACE)
    except subprocess.TimeoutExpired:
        processes.send(child.pid, signal.SIGTERM)
        try:
            child.wait(TERMINATE_GRACE)
        except subprocess.TimeoutExpired:
            _kill_all(child)


def _kill_all(child: subprocess.Popen[bytes]) -> None:
    below = processes.descendants(child.pid)
    child.kill()
    child.wait()
    processes.end(below, grace=0)
