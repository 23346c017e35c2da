"""The judge on a GPU: builds before the device is touched, values in lent device memory, timed pairs alone on the card.

Everything a verdict means is inherited from the CPU's judge; this file is what a device decides. Source: issue 4.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from kzlib.records import Candidate, Outcome, Task, Timing, Verdict
from kzlib.verifier import gpu_pairs, gpu_plan, replies, timing, wire
from kzlib.verifier.build import Builder
from kzlib.verifier.check import TaskCheck, check_reference
from kzlib.verifier.children import copy_tree
from kzlib.verifier.gpu_builds import Builds
from kzlib.verifier.gpu_job import GpuJob
from kzlib.verifier.gpu_lanes import Memory, Turnstile
from kzlib.verifier.gpu_memory import CudaError
from kzlib.verifier.gpu_references import KEEP_BYTES, LIVE_BASELINES, Baseline, GpuReferences, OutOfRoom
from kzlib.verifier.gpu_stock import Stock
from kzlib.verifier.judge import SLACK, Ended, Judge
from kzlib.verifier.pool import Child, ForkServer, ServerConfig, ServerDied
from kzlib.verifier.protocols import STRICT, Protocol
from kzlib.verifier.references import Broken, Reference, _size
from kzlib.verifier.sandbox import Limits
from kzlib.verifier.timing import Result

AHEAD = 3  # references made at once for tasks whose candidates are next


def executor(
    device: str, server: Callable[[], ForkServer], workers: int
) -> tuple[ServerConfig, GpuJudge, ForkServer | None]:
    """How the fork server of `device` ("cuda:N") is started, the judge that uses it, and the server if one runs."""
    index = int(device.partition(":")[2] or 0)
    if index:
        raise ValueError("say cuda:0 and choose the card with CUDA_VISIBLE_DEVICES")
    judge = GpuJudge(server, index, workers)
    started = None if _WALLS else _try_walls()
    return server_config(_WALLS[0]), judge, started


def server_config(namespaces: bool) -> ServerConfig:
    """A fork server that has imported everything and touched no device."""
    devices = [str(d) for d in (*Path("/dev").glob("nvidia*"), *Path("/dev").glob("nvidia-caps/*")) if not d.is_dir()]
    limits = Limits(
        memory=0, file_bytes=1 << 30, scratch_bytes=1 << 30, cpu_seconds=600, open_files=4096, processes=True
    )  # the driver reserves far more address space than it uses; Triton starts ptxas and a C compiler
    major, minor = torch.cuda.get_device_capability(0)
    return ServerConfig(
        preload=("kzlib.verifier.gpu_child",),
        environment={
            "CUDA_MODULE_LOADING": "LAZY",
            "CUDA_DEVICE_MAX_CONNECTIONS": "1",
            "KZ_ARCH": str(10 * major + minor),
        },
        limits=limits,
        namespaces=namespaces,
        readable=("/",),
        devices=(*devices, "/proc/self/task"),
    )


class _Unwatched(Exception):  # noqa: N818 - control flow: the judgement begins again without the watched call
    """The call under observation ended the candidate's process."""


class _Larger(Exception):  # noqa: N818 - control flow: the judgement begins again with more memory
    """The reference told that its task needs more memory than was taken."""


_WALLS: list[bool] = []  # whether a CUDA context can be made inside namespaces of its own; found out once a process


def _try_walls() -> ForkServer | None:
    """Find out by a server with namespaces, which takes seconds to start; it is kept where they work."""
    try:
        server = ForkServer(server_config(True))
    except ServerDied:
        _WALLS.append(False)
        return None
    try:
        with server.fork("kzlib.verifier.gpu_child:context_main") as child:
            child.send({})
            _WALLS.append(child.receive(60.0).get("event") == "context")
    except (ServerDied, wire.WireError, wire.Deadline):
        _WALLS.append(False)
    if _WALLS[0]:
        return server
    server.close()
    return None


class GpuJudge(Judge[GpuJob]):
    """Judges on one GPU. `tf32` is the declared precision mode of library products, for both sides alike."""

    job_type = GpuJob

    def __init__(
        self, server: Callable[[], ForkServer], device: int, workers: int = 4, tf32: bool = False,
        builder: Builder | None = None,
    ) -> None:  # fmt: skip
        self.stock = Stock(server, device, tf32, workers)
        super().__init__(server, GpuReferences(device, tf32, self.stock))
        self.device = device
        self.tf32 = tf32
        self.precision = "tf32" if tf32 else "ieee"
        self.name = torch.cuda.get_device_name(device)
        self.where = f"cuda:{self.name}"
        self.turnstile = Turnstile()
        self.l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
        free = torch.cuda.mem_get_info(device)[0]
        spoken_for = gpu_plan.standing(workers, LIVE_BASELINES, KEEP_BYTES)
        self.memory = Memory(max(free // 4, int(free * 0.95) - spoken_for))
        self._needs: dict[str, gpu_plan.Need] = {}
        self._need_locks: dict[str, threading.Lock] = {}
        self.builds = Builds(server, device, self.name, builder)
        self._lock = threading.Lock()
        self._ahead = ThreadPoolExecutor(AHEAD, thread_name_prefix="kz-reference")  # what fails is met by the judgement

    def expect(self, count: int) -> None:
        """Contexts are made ahead for judgements to come."""
        self.stock.expect(count)

    def prepare(self, task: Task, protocol: Protocol, seed: int) -> None:
        """Make a small task's reference while candidates of the tasks before it are judged."""
        with suppress(RuntimeError):  # closed in the meantime
            self._ahead.submit(self._prepare, GpuJob(task, Candidate(task.id, "triton", ""), protocol, seed))

    def _prepare(self, job: GpuJob) -> None:
        size = gpu_plan.reserve(self._need(job))
        if size > self.memory.total // 16:
            return  # a large one takes its turn
        with self.memory.reserve(size) as taken:
            job.reserved = taken
            self.reference(job, shake_state=True)

    def close(self) -> None:
        """End every process on the device."""
        self._ahead.shutdown(wait=False, cancel_futures=True)
        self.references.close()  # type: ignore[attr-defined]
        self.stock.close()

    @contextmanager
    def fresh(self) -> Iterator[Child]:
        """A child whose context is already there."""
        lender = self.stock.take()
        try:
            yield lender  # type: ignore[misc]
        finally:
            self.stock.retire(lender)

    def verdict(self, task: Task, candidate: Candidate, protocol: Protocol, seed: int, attempts: int = 3) -> Verdict:
        """One verdict; see `Judge.verdict`."""
        self.stock.expect(-1)
        try:
            return super().verdict(task, candidate, protocol, seed, attempts)
        finally:
            self.stock.rest()

    def check(self, task: Task, seed: int) -> TaskCheck:
        """Whether a task's reference can be checked; it may have to wait for memory."""
        self.stock.expect(-1)
        job = GpuJob(task, Candidate(task.id, "triton", ""), STRICT, seed)
        for _ in range(3):
            with self.memory.reserve(gpu_plan.reserve(self._need(job))) as taken:
                job.reserved = taken
                if taken > self.memory.total // 2:
                    self.references.make_room(task.id)  # type: ignore[attr-defined]
                try:
                    reference = self.references.get(self.server(), task, seed, STRICT, True)
                    if isinstance(reference, Reference):
                        self._fits(job, reference)
                        found = self._check(task, reference)
                        self.references.clear_rows(reference)  # type: ignore[attr-defined]
                        return found
                    return check_reference(task.id, reference)
                except _Larger:
                    continue
                except (CudaError, torch.OutOfMemoryError) as error:
                    raise ServerDied(str(error).splitlines()[0][:160]) from None
                except OutOfRoom as error:
                    if taken < self.memory.total:
                        self._needs[task.id] = gpu_plan.Need(self.memory.total, 0, 0)  # again, alone
                        continue
                    return check_reference(task.id, Broken("budget", str(error)))
        raise ServerDied("the task's memory need changes from run to run")

    def _judge(self, job: GpuJob, last: bool) -> Timing | None:
        self.refuse(job)  # builds, while nothing of the device is held
        for _ in range(3):
            size = self.memory.total if job.alone else gpu_plan.reserve(self._need(job))
            start = time.perf_counter()
            with self.memory.reserve(size) as taken:
                job.spend("memory_wait", start)
                job.reserved = taken
                job.evidence["reserved_gib"] = round(taken / 2**30, 2)
                if taken > self.memory.total // 2:
                    self.references.make_room(job.task.id)  # type: ignore[attr-defined]
                if job.alone:
                    self.stock.drain()
                try:
                    return self._with_memory(job, last, taken == self.memory.total)
                except (_Larger, _Unwatched):
                    continue
        raise ServerDied("the task's memory need changes from run to run")

    def _with_memory(self, job: GpuJob, last: bool, alone: bool) -> Timing | None:
        """A judgement that holds its memory. Out of it beside others: once more, alone; alone: whose fault is told."""
        try:
            return super()._judge(job, last)
        except Ended as ended:
            if ended.evidence.get("fault") != "memory":
                raise
            if alone:
                job.evidence["alone_on_device"] = True
                raise
            raise self._again_alone(job, str(ended)) from None
        except OutOfRoom as error:
            if alone:
                raise Ended(Outcome.INVALID_TASK, "task", f"budget: {error}", gate="budget") from None
            raise self._again_alone(job, str(error)) from None
        except (CudaError, torch.OutOfMemoryError) as error:
            raise self._again_alone(job, str(error)) from None

    def _again_alone(self, job: GpuJob, said: str) -> ServerDied:
        job.alone = True
        free, total = (round(n / 2**30, 1) for n in torch.cuda.mem_get_info(self.device))
        held = round(job.reserved / 2**30, 1)
        line = (said.splitlines() or [""])[0][:120]
        return ServerDied(f"{line}; {held} GiB asked for, {free} of {total} GiB free")

    def reference(self, job: GpuJob, shake_state: bool) -> Reference:
        """The reference of a job's task; `_Larger` when it needs more memory than was taken for it."""
        start = time.perf_counter()
        reference = self.references.get(self.server(), job.task, job.seed, job.protocol, shake_state)
        job.spend("reference", start)
        if isinstance(reference, Reference):
            self._fits(job, reference)
        return super().reference(job, shake_state)

    def _check(self, task: Task, reference: Reference) -> TaskCheck:
        with reference.sets.room_for_two():  # type: ignore[attr-defined]
            return super()._check(task, reference)

    def _fits(self, job: GpuJob, reference: Reference) -> None:
        need = self._needs[job.task.id] = reference.extra["need"]
        if gpu_plan.reserve(need) > job.reserved < self.memory.total:
            raise _Larger

    def _need(self, job: GpuJob) -> gpu_plan.Need:
        """What a task takes, found once without running it on the device."""
        task = job.task
        with self._lock:
            lock = self._need_locks.setdefault(task.id, threading.Lock())
        start = time.perf_counter()
        with lock:
            if task.id not in self._needs:
                with self.server().fork("kzlib.verifier.gpu_sizes:sizes_main") as child:
                    try:
                        child.send({"source": task.source})
                        told = child.receive(20.0, wire.MAX_JSON)
                    except (wire.WireError, wire.Deadline):
                        told = None
                self._needs[task.id] = gpu_plan.Need.read(told)
        job.spend("sizes", start)
        return self._needs[task.id]

    # --- building, before the device is touched ---------------------------------------------------------------------

    def refuse(self, job: GpuJob) -> None:
        """Build what the candidate will ask for; raise `Ended` when that fails."""
        self.builds.extensions(job)
        self.builds.kernels(job)

    def job_request(self, job: GpuJob, reference: Reference) -> dict[str, Any]:
        extensions, glue = self.builds.extensions(job), self.builds.glue(job)
        return {
            **super().job_request(job, reference), "role": "candidate", "kernels": job.kernels or {},
            "extensions": extensions, "glue": glue, "failed": job.failed,
        }  # fmt: skip

    # --- talking ------------------------------------------------------------------------------------------------------

    def _call(self, job: GpuJob, child: Any, row: Any, corrupt: bool) -> dict[str, Any]:
        first = not job.seconds.get("run")
        if first:  # holds the compiler's time: nobody waits for it
            answer = super()._call(job, child, row, corrupt)
        else:
            with self.turnstile.shared():
                answer = super()._call(job, child, row, corrupt)
        if answer.get("problem") is None:
            start = time.perf_counter()
            answer["guards"], same = child.intact(row.inputs)
            answer["inputs"] = None if same else copy_tree(child.lent_inputs(row.inputs))
            job.spend("compare", start)
        return answer

    def _report(self, job: GpuJob, reference: Reference, child: Any) -> dict[str, Any]:
        """The child's facts; with those of calls under observation, one for each set while its kernels only copy."""
        report = super()._report(job, reference, child)
        launched = any(call["launches"] for call in report["calls"])
        large = reference.extra["need"].large
        if not (job.protocol.evidence and launched) or large or job.unwatched:
            return report
        start = time.perf_counter()
        for index, row in enumerate(reference.sets):
            seen = self._watched(job, child, row)
            job.last_set = index
            if seen["fault"]:
                raise Ended(Outcome.RUNTIME_FAIL, "run", seen["message"], fault=seen["fault"])
            if seen["message"]:
                raise self._leave_unwatched(job, child, seen["message"])
            job.evidence["watched"] = "fenced" if seen["fenced"] else "not fenced"
            if not seen["copies"]:
                break
        job.spend("watched", start)
        return super()._report(job, reference, child)

    def _watched(self, job: GpuJob, child: Any, row: Any) -> dict[str, Any]:
        """What was seen of one more call on a set. Who cannot be watched is judged again without."""
        with self.turnstile.shared():
            try:
                child.send({"inputs": row.inputs, "watch": True})
                return replies.checked(child.receive(job.protocol.run_seconds, SLACK), "watched")
            except (wire.Deadline, wire.Closed) as error:
                raise self._leave_unwatched(job, child, type(error).__name__) from None

    @staticmethod
    def _leave_unwatched(job: GpuJob, child: Any, why: str) -> _Unwatched:
        child.kill()
        job.unwatched = True
        job.evidence["watched"] = f"no: {why}"
        return _Unwatched()

    # --- timing -------------------------------------------------------------------------------------------------------

    def timing(self, job: GpuJob, reference: Reference, report: dict[str, Any], child: Any) -> Timing | None:
        """Timed pairs against the reference, alone on the device; `Ended` for a time or an answer that cannot be."""
        baseline: Baseline = reference.extra["baseline"]
        row = reference.sets[0]
        inputs, written, stateful = row.inputs, _size([row.native]), bool(row.buffers)
        limit = 4 * (written + _size([inputs])) + (8 << 20)
        del row
        self.references.clear_rows(reference)  # type: ignore[attr-defined]

        def answer(side: Any, contents: Any, event: str = "timed") -> dict[str, Any]:
            if side is child:
                return self._answer(job, side, job.protocol.run_seconds, limit, "time", event)
            try:
                return self._answer(job, side, job.protocol.run_seconds, limit, "time", event)
            except (wire.WireError, Ended) as error:
                raise ServerDied(f"the reference failed while it was timed ({error})") from None

        start = time.perf_counter()
        with baseline.live() as lender, self.turnstile.alone():
            job.spend("time_wait", start)
            if stateful:  # both sides go on from one state, or an answer that depends on it would look stale
                lender.send({"begin": True})
                answer(lender, None, "state")
                child.send({"state": reference.state, "training": reference.training})
                answer(child, None, "state")
            pairs = gpu_pairs.Pairs(
                lender, child, inputs, job.seed ^ 0x7157, answer, 64.0 if self.tf32 else 1.0,
            )  # fmt: skip
            try:
                samples = pairs.collect()
            except gpu_pairs.StaleAnswer as error:
                raise Ended(Outcome.CHEAT, "time", str(error), call=error.call) from None
            finally:
                if not lender.small:
                    with suppress(ServerDied, wire.WireError):  # one that died is met by whoever asks it next
                        lender.send({"begin": True})  # its timed calls are over: it gives their memory back
                        answer(lender, None, "state")
                    lender.drop()
        return self._judged(job, written, timing.summarise(samples))

    def _judged(self, job: GpuJob, written: int, result: Result) -> Timing:
        flops = 0.0  # counted operations are the reference's way to the answer, not the least there is
        floor = timing.floor_us(written, self.l2_bytes, flops, "float32", timing.device_facts(self.name))
        charged = timing.charged_us(result)
        job.evidence.update(
            {
                "floor_us": round(floor, 2),
                "hidden_us": round(result.hidden_us, 1),
                "timing_error": round(timing.speedup_error(result), 4),
                "clock_mhz": _clock(self.device),
                "baseline_mode": "eager",
            }
        )
        if timing.too_fast(result.candidate_us, floor):
            message = f"{result.candidate_us:.1f} us is less than the device needs to write the answer ({floor:.1f} us)"
            raise Ended(Outcome.CHEAT, "time", message)
        if charged > result.candidate_us:
            job.evidence["clocks_disagree"] = True
        speedup = result.speedup * result.candidate_us / charged
        return Timing(
            round(charged, 3),
            round(result.baseline_us, 3),
            round(speedup, 4),
            "measured",
            result.n,
            round(result.spread, 4),
            result.launch_bound,
        )


def _clock(device: int) -> int | None:
    """The multiprocessors' clock now, MHz; None where the driver does not tell."""
    try:
        return int(torch.cuda.clock_rate(device))
    except (RuntimeError, ModuleNotFoundError, AttributeError):
        return None


def self_candidate(task: Task) -> Candidate:
    """The reference as its own candidate, for A/A runs: same source, its class under the name a candidate needs."""
    return Candidate(task.id, "triton", task.source + "\n\n\nclass ModelNew(Model):\n    pass\n")
