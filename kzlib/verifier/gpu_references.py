"""References on a GPU: results stay in device memory of the judge, processes stay alive as the baseline of timed pairs.

Source: issue 4, items 3 and 4.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch

from kzlib.records import Task
from kzlib.verifier import wire
from kzlib.verifier.gpu_wire import Lender
from kzlib.verifier.pool import Child, ForkServer, ServerDied
from kzlib.verifier.protocols import Protocol
from kzlib.verifier.references import Broken, Reference, References, _size

if TYPE_CHECKING:
    from kzlib.verifier.judge import Job

LIVE_BASELINES = 6  # reference processes kept for timing, each with a context of its own
KEEP_BYTES = 24 << 30


class Baseline:
    """A live reference process and the memory of its results. Timed by one judgement at a time."""

    def __init__(self, child: Child, lender: Lender) -> None:
        self.child = child
        self.lender = lender
        self.lock = threading.Lock()

    def end_process(self) -> None:
        """Free the process's context; the results stay with the judge."""
        with self.lock:
            self.child.end()


class GpuReferences(References):
    """References whose results stay in device memory of the judge, their processes kept for timing."""

    entry = "kzlib.verifier.gpu_child:reference_main"

    def __init__(self, device: int, tf32: bool, seconds: float = 120.0) -> None:
        super().__init__(seconds=seconds, output_limit=96 << 30)
        self.device = device
        self.tf32 = tf32
        self._live: OrderedDict[int, Baseline] = OrderedDict()

    def request(self, task: Task, seed: int, protocol: Protocol, shake_state: bool) -> dict[str, Any]:
        return {**super().request(task, seed, protocol, shake_state), "tf32": self.tf32}

    def _run(
        self, server: ForkServer, task: Task, seed: int, protocol: Protocol, shake_state: bool
    ) -> Reference | Broken:
        for attempt in range(3):
            child = server.fork(self.entry)
            lender = Lender(child, self.device, keep_answers=True)
            result: Reference | Broken | None = None
            try:
                lender.send(self.request(task, seed, protocol, shake_state))
                result = self._read(lender.receive(self.seconds, self.output_limit))
            except wire.Deadline:
                result = Broken("budget", f"the reference needs more than {self.seconds:.0f} s")
            except wire.Closed:
                end = child.wait()
                if end.signal != "SIGKILL" or attempt == 2:
                    result = Broken("runs", f"the reference's process ended ({end.signal or f'exit code {end.code}'})")
            except wire.WireError as error:
                result = Broken("runs", f"the reference's values cannot be passed on: {error}")
            if isinstance(result, Reference):
                lender.hold_answer()
                result.extra["baseline"] = self._keep_alive(Baseline(child, lender))
                return result
            child.end()
            lender.close()
            if result is not None:
                return result
        raise ServerDied("the reference's process was killed three times")

    def _keep_alive(self, baseline: Baseline) -> Baseline:
        with self._lock:
            self._live[id(baseline)] = baseline
            ended = [self._live.popitem(last=False)[1] for _ in range(max(0, len(self._live) - LIVE_BASELINES))]
        for old in ended:
            old.end_process()
        return baseline

    def make_room(self, task_id: str) -> None:
        """Forget every other task's results and end their processes: a large task needs the device."""
        with self._lock:
            for key in [key for key in self._kept if key[0] != task_id]:
                del self._kept[key]
            mine = {id(r.extra["baseline"]) for r, _ in self._kept.values() if isinstance(r, Reference)}
            ended = [self._live.pop(key) for key in list(self._live) if key not in mine]
        for baseline in ended:
            baseline.end_process()
        del ended
        gc.collect()
        torch.cuda.empty_cache()

    def revive(self, server: ForkServer, job: Job, reference: Reference, shake_state: bool) -> Baseline:
        """The reference's live process; started again if it had to make room."""
        baseline: Baseline = reference.extra["baseline"]
        with self._lock:
            if id(baseline) in self._live:
                self._live.move_to_end(id(baseline))
                return baseline
        again = self._run(server, job.task, job.seed, job.protocol, shake_state)
        if isinstance(again, Broken):
            raise ServerDied(f"the reference ran once and not again ({again.message})")
        reference.extra["baseline"] = again.extra["baseline"]
        reference.extra.setdefault("memory", []).append(baseline)
        return again.extra["baseline"]

    def _keep(self, key: tuple[Any, ...], result: Reference | Broken) -> None:
        size = 0 if isinstance(result, Broken) else sum(_size([s.inputs, s.native, s.exact]) for s in result.sets)
        with self._lock:
            self._busy.pop(key, None)
            self._kept[key] = (result, size)
            total = sum(s for _, s in self._kept.values())
            while len(self._kept) > 256 or (total > KEEP_BYTES and len(self._kept) > 1):
                total -= self._kept.popitem(last=False)[1][1]
