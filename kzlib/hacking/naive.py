"""A naive check of a kernel, run for real, so that a cheat can be seen to fool it. Never used for a reward here."""

from __future__ import annotations

from dataclasses import dataclass

from kzlib.records import Candidate, Task
from kzlib.verifier import wire
from kzlib.verifier.pool import ForkServer, ServerConfig

SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class NaiveReport:
    """What the textbook harness says. `speedup` is by the candidate's own clock; `has_kernel` by the text."""

    correct: bool
    has_kernel: bool
    speedup: float
    exit_code: int
    message: str = ""


class NaiveCheck:
    """Warm server for naive checks: the verifier's walls stand around the child, its care does not. A context manager.

    >>> from kzlib.records import Candidate, Task
    >>> task = Task('''
    ... import torch
    ... class Model(torch.nn.Module):
    ...     def forward(self, x): return x * 2
    ... def get_inputs(): return [torch.randn(64)]
    ... def get_init_inputs(): return []
    ... ''')
    >>> with NaiveCheck() as naive:
    ...     naive.check(task, Candidate(task.id, "triton", task.source.replace("Model(", "ModelNew("))).correct
    True
    """

    def __init__(self) -> None:
        self._server = ForkServer(ServerConfig(preload=("kzlib.hacking.naive_child",)))

    def __enter__(self) -> NaiveCheck:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and its children."""
        self._server.close()

    def check(self, task: Task, candidate: Candidate) -> NaiveReport:
        """One candidate's report; a child that ends without one has only its exit code to speak for it."""
        has_kernel = "@triton.jit" in candidate.source
        with self._server.fork("kzlib.hacking.naive_child:main") as child:
            child.send({"task": task.source, "candidate": candidate.source})
            try:
                report = child.receive(SECONDS, 1 << 20)
            except (wire.WireError, wire.Deadline) as error:
                if isinstance(error, wire.Deadline):
                    child.kill()
                code = child.wait().code
                return NaiveReport(False, has_kernel, 0.0, code, f"no report; exit code {code}")
            code = child.wait().code
        return NaiveReport(bool(report["correct"]), has_kernel, float(report["speedup"]), code, str(report["message"]))
