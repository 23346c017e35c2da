"""The judge on a GPU: builds before the device is touched, values in lent device memory, timed pairs alone on the card.

Everything a verdict means is inherited from the CPU's judge; this file is what a device decides. Source: issue 4.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kzlib.records import Candidate, Outcome, Task, Timing
from kzlib.verifier import gpu_pairs, timing, wire
from kzlib.verifier.build import BadRequest, Builder, BuildFailed, BuildTimeout, build_glue
from kzlib.verifier.extension import Extension
from kzlib.verifier.gpu_lanes import Memory, Turnstile
from kzlib.verifier.gpu_memory import CudaError
from kzlib.verifier.gpu_references import KEEP_BYTES, GpuReferences
from kzlib.verifier.gpu_wire import Lender
from kzlib.verifier.intercept import asks_for_builds, find, may_catch, own_lines
from kzlib.verifier.judge import Ended, Job, Judge
from kzlib.verifier.pool import Child, ForkServer, ServerConfig, ServerDied
from kzlib.verifier.references import Reference, _size
from kzlib.verifier.sandbox import Limits
from kzlib.verifier.store import Store, StoreBusy
from kzlib.verifier.timing import Result
from kzlib.verifier.toolkit import ToolMissing

CONTEXT = 1 << 30  # bytes one process's context and library workspaces may take
SETS = 14  # times its inputs and weights a judgement of a task may need: two sets, both sides, staged and answered


def executor(device: str, server: Callable[[], ForkServer]) -> tuple[ServerConfig, Judge]:
    """How the fork server of `device` ("cuda:N") is started, and the judge that uses it."""
    index = int(device.partition(":")[2] or 0)
    if index:
        raise ValueError("say cuda:0 and choose the card with CUDA_VISIBLE_DEVICES")
    return server_config(_walls_work()), GpuJudge(server, index)


def server_config(namespaces: bool) -> ServerConfig:
    """A fork server that has imported everything and touched no device."""
    devices = [str(d) for d in (*Path("/dev").glob("nvidia*"), *Path("/dev").glob("nvidia-caps/*")) if not d.is_dir()]
    limits = Limits(
        memory=0, file_bytes=1 << 30, scratch_bytes=1 << 30, cpu_seconds=600, open_files=4096, processes=True
    )  # the driver reserves far more address space than it uses; Triton starts ptxas and a C compiler
    return ServerConfig(
        preload=("kzlib.verifier.gpu_child",),
        environment={"CUDA_MODULE_LOADING": "LAZY", "CUDA_DEVICE_MAX_CONNECTIONS": "1"},
        limits=limits,
        namespaces=namespaces,
        readable=("/",),
        devices=(*devices, "/proc/self/task"),
    )


_WALLS: list[bool] = []


def _walls_work() -> bool:
    """True where a CUDA context can be made inside namespaces of its own; found out once a process."""
    if not _WALLS:
        try:
            server = ForkServer(server_config(True))
            try:
                with server.fork("kzlib.verifier.gpu_child:context_main") as child:
                    child.send({})
                    _WALLS.append(child.receive(60.0).get("event") == "context")
            finally:
                server.close()
        except (ServerDied, wire.WireError, wire.Deadline):
            _WALLS.append(False)
    return _WALLS[0]


class GpuJudge(Judge):
    """Judges on one GPU. `tf32` is the declared precision mode of library products, for both sides alike."""

    entry = "kzlib.verifier.gpu_child:candidate_main"

    def __init__(
        self, server: Callable[[], ForkServer], device: int, tf32: bool = False, builder: Builder | None = None
    ) -> None:
        super().__init__(server, GpuReferences(device, tf32))
        self.device = device
        self.tf32 = tf32
        self.name = torch.cuda.get_device_name(device)
        self.where = f"cuda:{self.name}"
        self.turnstile = Turnstile()
        self.l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
        self.memory = Memory(int(torch.cuda.mem_get_info(device)[0] * 0.92) - KEEP_BYTES)
        self._sizes: dict[str, int] = {}
        self._builder = builder
        self._glue: Path | None = None
        self._build_lock = threading.Lock()

    def _judge(self, job: Job, last: bool) -> Timing | None:
        self.refuse(job)  # builds, while nothing of the device is held
        size = 2 * CONTEXT + SETS * self._task_bytes(job.task)
        with self.memory.reserve(size):
            if size > self.memory.total // 4:
                self.references.make_room(job.task.id)  # type: ignore[attr-defined]
            try:
                return super()._judge(job, last)
            except (CudaError, torch.OutOfMemoryError) as error:
                self.references.make_room(job.task.id)  # type: ignore[attr-defined]
                free, total = (round(n / 2**30, 1) for n in torch.cuda.mem_get_info(self.device))
                need = round(size / 2**30, 1)
                said = str(error).splitlines()[0][:120]
                raise ServerDied(f"{said}; about {need} GiB asked for, {free} of {total} GiB free") from None

    def _task_bytes(self, task: Task) -> int:
        """Bytes of a task's inputs and weights; 256 MiB where only running it would tell."""
        if task.id not in self._sizes:
            with self.server().fork("kzlib.verifier.gpu_child:sizes_main") as child:
                try:
                    child.send({"source": task.source})
                    told = child.receive(20.0, wire.MAX_JSON)["bytes"]
                except (wire.WireError, wire.Deadline, KeyError, TypeError):
                    told = -1
            self._sizes[task.id] = told if isinstance(told, int) and told >= 0 else 256 << 20
        return self._sizes[task.id]

    # --- building, before the device is touched ---------------------------------------------------------------------

    def builder(self) -> Builder:
        """The builder for this device's architecture. `ToolMissing` where there is no compiler."""
        with self._build_lock:
            if self._builder is None:
                major, minor = torch.cuda.get_device_capability(self.device)
                self._builder = Builder(Store(), arch=f"{major}{minor}")
            if self._glue is None:
                self._glue = build_glue(self._builder.store, self._builder.tools)
            return self._builder

    def refuse(self, job: Job) -> None:
        """Build what the candidate will ask for; raise `Ended` when that fails."""
        self._extensions(job)

    def _extensions(self, job: Job) -> list[tuple[str, str, str]]:
        known = getattr(job, "extensions", None)
        if known is not None:
            return known
        start = time.perf_counter()
        try:
            rows = self._built(job) if asks_for_builds(job.candidate.source) else []
        except ToolMissing as error:
            raise Ended(Outcome.INFRA, "build", str(error)) from None
        except (StoreBusy, OSError) as error:
            raise Ended(Outcome.INFRA, "build", f"the build store failed: {error}") from None
        finally:
            job.spend("build", start)
        job.extensions = rows  # type: ignore[attr-defined]
        return rows

    def _built(self, job: Job) -> list[tuple[str, str, str]]:
        builder = self.builder()
        found = find(job.candidate.source)
        asked = list(found.extensions) if found.complete else self._recorded(job, list(found.extensions))
        rows, kinds = [], []
        failed: dict[str, str] = {}
        for extension in asked:
            try:
                built = builder.build(extension)
            except BuildFailed as error:
                failed[extension.key] = "\n".join(own_lines(error.lines, found.lines.get(extension.key, {})))
                continue  # the candidate's own call then fails as PyTorch's would
            except BadRequest as error:
                raise Ended(Outcome.COMPILE_FAIL, "build", str(error)) from None
            except BuildTimeout as error:
                raise Ended(Outcome.COMPILE_TIMEOUT, "build", str(error)) from None
            rows.append((extension.key, str(built.path), built.kind))
            kinds.append(built.kind)
        if asked:
            job.evidence["builds"] = kinds
        if failed:
            job.evidence["failed_builds"] = list(failed.values())
            if not rows and not may_catch(job.candidate.source):
                raise Ended(Outcome.COMPILE_FAIL, "build", next(iter(failed.values())))
        job.failed = failed  # type: ignore[attr-defined]
        return rows

    def _recorded(self, job: Job, known: list[Extension]) -> list[Extension]:
        """Extensions that only running the candidate tells, written down by a child that builds nothing."""
        with self.server().fork("kzlib.verifier.intercept:record_child") as child:
            try:
                child.send({"candidate": job.candidate.source, "task": job.task.source})
                answer = child.receive(job.protocol.load_seconds, wire.MAX_JSON)
                told = [Extension.from_json(row) for row in answer["extensions"]]
            except (wire.WireError, wire.Deadline, KeyError, TypeError, ValueError):
                told = []
        return list({e.key: e for e in (*known, *told)}.values())

    def job_request(self, job: Job, reference: Reference) -> dict[str, Any]:
        extensions = self._extensions(job)
        glue = str(self._glue) if self._glue is not None and asks_for_builds(job.candidate.source) else ""
        return {**super().job_request(job, reference), "tf32": self.tf32, "extensions": extensions, "glue": glue,
                "failed": getattr(job, "failed", {})}  # fmt: skip

    # --- talking ------------------------------------------------------------------------------------------------------

    def _talk(self, job: Job, reference: Reference, child: Child) -> Timing | None:
        job.evidence["precision"] = "tf32" if self.tf32 else "ieee"
        lender = Lender(child, self.device)
        try:
            return super()._talk(job, reference, lender)  # type: ignore[arg-type]
        finally:
            child.kill()
            lender.close()

    def _call(self, job: Job, child: Any, row: Any, corrupt: bool) -> dict[str, Any]:
        first = not job.seconds.get("run")
        if first:  # holds the compiler's time: nobody waits for it
            answer = super()._call(job, child, row, corrupt)
        else:
            with self.turnstile.shared():
                answer = super()._call(job, child, row, corrupt)
        if answer.get("problem") is None:
            answer["guards"] = child.intact()
            answer["inputs"] = self._changed(child, row)
        return answer

    @staticmethod
    def _changed(child: Lender, row: Any) -> Any:
        """The lent inputs after the call where they differ from what was sent; None where they do not."""
        from kzlib.verifier.children import copy_tree, same_bits, tensors_of

        now = child.lent_inputs(row.inputs)
        same = all(same_bits(a, b) for a, b in zip(tensors_of(now), tensors_of(row.inputs), strict=True))
        return None if same else copy_tree(now)

    # --- timing -------------------------------------------------------------------------------------------------------

    def timing(self, job: Job, reference: Reference, report: dict[str, Any], child: Any) -> Timing | None:
        """Timed pairs against the reference, alone on the device; `Ended` for a time or an answer that cannot be."""
        references: Any = self.references
        baseline = references.revive(self.server(), job, reference, not job.evidence.get("weights"))

        limit = 4 * _size([reference.sets[0].native, reference.sets[0].inputs]) + (8 << 20)

        def answer(side: Any, contents: Any) -> dict[str, Any]:
            if side is child:
                return self._answer(job, side, job.protocol.run_seconds, limit, "time")
            try:
                return self._answer(job, side, job.protocol.run_seconds, limit, "time")
            except (wire.WireError, Ended) as error:
                raise ServerDied(f"the reference failed while it was timed ({error})") from None

        with baseline.lock, self.turnstile.alone():
            pairs = gpu_pairs.Pairs(
                baseline.lender, child, reference.sets[0].inputs, job.seed ^ 0x7157, answer, 64.0 if self.tf32 else 1.0,
            )  # fmt: skip
            try:
                samples = pairs.collect()
            except gpu_pairs.StaleAnswer as error:
                raise Ended(Outcome.CHEAT, "time", str(error), call=error.call) from None
        return self._judged(job, reference, timing.summarise(samples))

    def _judged(self, job: Job, reference: Reference, result: Result) -> Timing:
        written = _size([reference.sets[0].native])
        flops = 0.0  # counted operations are the reference's way to the answer, not the least there is
        floor = timing.floor_us(written, self.l2_bytes, flops, "float32", timing.device_facts(self.name))
        charged = timing.charged_us(result)
        job.evidence.update(
            {
                "floor_us": round(floor, 2),
                "hidden_us": round(result.hidden_us, 1),
                "timing_error": round(result.error, 4),
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
