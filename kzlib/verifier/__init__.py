"""Keck: an execution-based verifier. Is this kernel right, honest work, and how fast?

>>> from kzlib.records import Candidate, Task
>>> task = Task('''
... import torch
... class Model(torch.nn.Module):
...     def forward(self, x): return x * 2
... def get_inputs(): return [torch.randn(64)]
... def get_init_inputs(): return []
... ''')
>>> answer = Candidate(task.id, "triton", "class ModelNew: pass  # no kernel at all")
>>> [v.outcome.value for v in verify([task], [answer], device="cpu")]
['runtime_fail']

Source: issues 3 and 4; DESIGN section 6. What is protected and what is not: docs/verifier.md.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any

from kzlib.records import Candidate, Outcome, Task, Verdict
from kzlib.verifier.check import TaskCheck, check_reference
from kzlib.verifier.judge import Job, Judge, fault
from kzlib.verifier.pool import ForkServer, ServerConfig, ServerDied
from kzlib.verifier.protocols import PROTOCOLS, Protocol
from kzlib.verifier.references import Broken, References

__all__ = ["TaskCheck", "Verifier", "verify"]

FRONT_END = ServerConfig(preload=("kzlib.verifier.front_end",), environment={})
# What the interpreter finds and a GPU would find again. Code that cannot run there, as `assert x.is_cuda`, ends as
# runtime_fail, compile_fail or timeout: the GPU is asked.
SCREENED = frozenset({Outcome.WRONG})
Progress = Callable[[int, int, Verdict], None]


def verify(
    tasks: Iterable[Task], candidates: Iterable[Candidate], *, protocol: str = "strict", device: str = "auto",
    workers: int | None = None, seed: int | None = None, progress: Progress | None = None,
) -> Iterator[Verdict]:  # fmt: skip
    """One verdict for every candidate given, as they finish; see `Verifier.verify`."""
    with Verifier(device=device, workers=workers) as verifier:
        yield from verifier.verify(tasks, candidates, protocol=protocol, seed=seed, progress=progress)


def resolve_device(device: str) -> str:
    """ "auto" becomes the first GPU, or the CPU where there is none."""
    if device == "auto":
        import torch

        return "cuda:0" if torch.cuda.is_available() else "cpu"
    if device != "cpu" and not device.startswith("cuda"):
        raise ValueError(f"device {device!r}: say auto, cpu or cuda:0")
    return device


class Verifier:
    """Keeps a warm fork server between calls. Use it as a context manager, or `close()` it.

    `device` is "auto", "cpu" (Triton's interpreter) or "cuda:N"; `workers` candidates are judged at once.
    `screen=True` runs Triton candidates in the interpreter before a GPU: what is wrong there takes none of the GPU's
    time, and its verdict says where it was found. Everything else is judged on the GPU as without it.
    """

    def __init__(self, device: str = "auto", workers: int | None = None, screen: bool = False) -> None:
        self.device = resolve_device(device)
        self.workers = workers or min(len(os.sched_getaffinity(0)), 64)
        self._servers: dict[str, ForkServer] = {}
        self._locks = {
            name: threading.Lock() for name in ("candidates", "front end", "screen")
        }  # starting one stops no other
        self._closed = False
        self.judge: Judge[Any]
        self._screen: Judge[Job] | None = None
        if self.device == "cpu":
            self._config, self.judge = ServerConfig(), Judge[Job](self.server, References(), self.front_end)
        else:
            from kzlib.verifier import gpu

            self._config, self.judge, started = gpu.executor(self.device, self.server, self.workers)
            if started is not None:
                self._servers["candidates"] = started
            if screen:
                self._screen = Judge[Job](lambda: self._running("screen", ServerConfig()), References())

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Verifier:
        """Begin to start the servers, which takes seconds, while the caller does something else; returns itself."""
        screen = self._screen.server if self._screen else None
        for start in (self.server, screen, self.judge.front_end):
            if start is not None:
                threading.Thread(target=_quietly, args=(start,), daemon=True).start()
        return self

    def server(self) -> ForkServer:
        """The running fork server; a dead one is replaced."""
        return self._running("candidates", self._config)

    def front_end(self) -> ForkServer:
        """The fork server that holds Triton's compiler instead of its interpreter."""
        return self._running("front end", FRONT_END)

    def _running(self, name: str, config: ServerConfig) -> ForkServer:
        with self._locks[name]:
            if self._closed:
                raise ServerDied("the verifier is closed")
            server = self._servers.get(name)
            if server is not None and not server.alive:
                server.close()
                server = None
            if server is None:
                server = self._servers[name] = ForkServer(config)
            return server

    def protections(self) -> list[str]:
        """Names of the walls that stand around generated code on this machine."""
        with self.server().fork("kzlib.verifier.reference:main") as child:
            child.send({"walls_only": True})
            return list(child.receive(60.0)["walls"])

    def verify(
        self, tasks: Iterable[Task], candidates: Iterable[Candidate], *, protocol: str = "strict",
        seed: int | None = None, progress: Progress | None = None,
    ) -> Iterator[Verdict]:  # fmt: skip
        """One verdict for every candidate given, as they finish; the same code for the same task is judged once.

        Candidates of one task are taken one after another, whatever their order: a large reference is made once.
        `seed=None` draws a secret seed; it is printed in the verdict and replays it bit for bit.
        """
        if protocol not in PROTOCOLS:
            raise ValueError(f"protocol {protocol!r}: say {' or '.join(PROTOCOLS)}")
        by_id = {task.id: task for task in tasks}
        copies: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            if candidate.task_id not in by_id:
                raise ValueError(f"a candidate answers task {candidate.task_id}, which is not among the tasks given")
            copies.setdefault(candidate.id, []).append(candidate)
        turn = {task_id: n for n, task_id in enumerate(dict.fromkeys(c.task_id for c, *_ in copies.values()))}
        ordered = sorted((first for first, *_ in copies.values()), key=lambda c: turn[c.task_id])
        chosen = secrets.randbits(62) if seed is None else seed
        total, done = sum(map(len, copies.values())), 0

        def judge(candidate: Candidate) -> Verdict:
            return self._verdict(by_id[candidate.task_id], candidate, PROTOCOLS[protocol], chosen)

        def announced() -> Iterator[Candidate]:
            known: set[str] = set()
            for first in ordered:
                if first.task_id not in known:
                    known.add(first.task_id)
                    self.judge.prepare(by_id[first.task_id], PROTOCOLS[protocol], chosen)
                yield first

        self.judge.expect(len(copies))
        for verdict in self._each(judge, announced()):
            for _ in copies[verdict.candidate_id]:
                done += 1
                if progress is not None:
                    progress(done, total, verdict)
                yield verdict

    def _verdict(self, task: Task, candidate: Candidate, protocol: Protocol, seed: int) -> Verdict:
        if self._screen is not None and candidate.backend == "triton":
            found = self._screen.verdict(task, candidate, protocol, seed)
            if found.outcome in SCREENED:
                self.judge.expect(-1)
                return found
        return self.judge.verdict(task, candidate, protocol, seed)

    def check(self, tasks: Iterable[Task], seed: int | None = None) -> Iterator[TaskCheck]:
        """Whether each task's reference can be checked, as they finish."""
        chosen = secrets.randbits(62) if seed is None else seed

        def one(task: Task) -> TaskCheck:
            for _ in range(3):
                try:
                    return self.judge.check(task, chosen)
                except ServerDied as error:
                    reason = str(error)
                except Exception as error:  # noqa: BLE001 - one task's answer, never the end of the others'
                    reason = "{error} in {place}: {text}".format(**fault(error))
                    break
            return check_reference(task.id, Broken("runs", f"the verifier's own process failed: {reason}"))

        distinct = list({task.id: task for task in tasks}.values())
        self.judge.expect(len(distinct))
        yield from self._each(one, distinct)

    def _each(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Results as they finish, with a bounded number of items in flight. Abandoned, it begins no more of them; those
        under way end by themselves."""
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="kz-judge")
        waiting, running = iter(items), set[Future[Any]]()
        try:
            while True:
                for item in waiting:
                    running.add(pool.submit(work, item))
                    if len(running) >= 2 * self.workers:
                        break
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        finally:
            pool.shutdown(wait=not running, cancel_futures=True)

    @property
    def open(self) -> bool:
        """False once `close()` was called."""
        return not self._closed

    def close(self) -> None:
        """End the fork server and everything it started."""
        self.judge.close()
        self._closed = True
        for name, lock in self._locks.items():
            with lock:
                server = self._servers.pop(name, None)
                if server is not None:
                    server.close()


def _quietly(start: Callable[[], ForkServer]) -> None:
    """A server that cannot be started is met by whoever asks it."""
    with suppress(ServerDied):
        start()
