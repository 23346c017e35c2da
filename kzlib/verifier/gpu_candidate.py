"""One candidate in a CUDA context of its own: loaded once, called on lent memory, timed on request. No expected value,
clock or verdict is here. Source: issue 4, items 3 and 4; DESIGN section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from kzlib.verifier import (
    children,
    gpu_clock,
    gpu_launches,
    gpu_lines,
    gpu_watch,
    gpu_wire,
    loader,
    ops,
    precompile,
    tamper,
    wire,
)
from kzlib.verifier.candidate import CandidateError, flags, output_problem
from kzlib.verifier.evidence import only_lines
from kzlib.verifier.gpu_clock import DEVICE, Clock, timed_call
from kzlib.verifier.gpu_launches import Launches, watched_facts
from kzlib.verifier.gpu_memory import CudaError
from kzlib.verifier.gpu_plan import LARGE
from kzlib.verifier.gpu_watch import Banded, Fence, Watch, is_illegal_address
from kzlib.verifier.ops import OpLog


def candidate_main(borrower: gpu_wire.Borrower, clock: Clock, job: dict[str, Any], walls: list[str]) -> None:
    """Serve one candidate until the judge hangs up or the candidate fails."""
    session = GpuSession(job, borrower, clock)
    report = GpuSession.report  # bound now: the candidate may rebind the name later
    try:
        borrower.send({"event": "built", "walls": walls, **session.build()})
        while True:
            request = borrower.receive()
            if request.get("report"):
                borrower.send({"event": "report", **report(session)})
            elif "state" in request:
                borrower.send({"event": "state", **session.load_state(request["state"], request["training"])})
            elif request.get("watch"):
                borrower.send({"event": "watched", **session.watched(request)})
            elif request.get("time"):
                borrower.send({"event": "timed", **session.timed(request)})
            else:
                borrower.send({"event": "output", **session.call(request)})
    except CandidateError as error:
        borrower.send({"event": "failed", **session.failure(error)})
    except wire.Foreign as error:
        borrower.send({"event": "failed", **session.failure(CandidateError("output", error))})
    except RuntimeError as error:  # what a call left behind in the driver, met by the first question asked after it
        borrower.send({"event": "failed", **session.failure(CandidateError("run", error))})


def owners() -> dict[str, Any]:
    """Owners of the functions that the evidence rests on: those of every device, the device's own, and ours."""
    from torch.cuda import _utils
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    return {
        **tamper.shared_owners(), "torch.cuda.Stream": torch.cuda.Stream, "torch.cuda.graphs": torch.cuda.graphs,
        "torch._C": torch._C, "torch.backends.cuda": torch.backends.cuda, "triton function": JITFunction,
        "triton autotuner": Autotuner, "nvrtc kernel": _utils._CudaKernel, "clock": Clock, "clocks": gpu_clock,
        "launches": gpu_launches, "launch counter": Launches, "operator log": OpLog, "operators": ops, "wire": wire,
        "device wire": gpu_wire, "borrower": gpu_wire.Borrower, "children": children, "session": GpuSession,
        "tamper": tamper, "watch": gpu_watch, "watch of a call": Watch, "lines": gpu_lines,
    }  # fmt: skip


def poison(size: int) -> None:
    """Fill the free memory of this process's allocator with NaN patterns, small blocks and large ones."""
    spans = [4096] * 32 + [1 << 17] * 8 + [1 << 20, size, size]
    held = [torch.empty(n, dtype=torch.uint8, device=DEVICE).fill_(0xFF) for n in spans]
    del held


class GpuSession:
    """One candidate, loaded once, called several times, timed on request."""

    def __init__(self, job: dict[str, Any], borrower: gpu_wire.Borrower, clock: Clock) -> None:
        self.job = job
        self.clock = clock
        self.borrower = borrower
        self.filename: str | None = None
        self.model: torch.nn.Module | None = None
        self.mapping: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.calls: list[dict[str, Any]] = []
        self.launches = Launches()
        self.fence = Fence(0)

    def build(self) -> dict[str, Any]:
        """Import the file, construct the model under the reference's seed."""
        self.flags = flags()
        self.launches.watch()
        precompile.install(self.job["kernels"], Path.cwd() / "triton")
        if self.job["glue"]:
            self._install_extensions()
        if self.job["shake"]:
            children.shake_initialisers(self.job["noise_seed"])
        poison(1 << 22)
        self.threads, self.extra_threads = tamper.Threads(), 0
        self.baseline = tamper.noted(owners())
        start = perf_counter()
        with torch.device(DEVICE):
            module = self._stage("load", self._load)
            self.seconds["load"] = perf_counter() - start
            entry = next((n for n in self.job["entries"] if isinstance(getattr(module, n, None), type)), None)
            if entry is None:
                raise CandidateError("load", AttributeError(f"the code defines no class {self.job['entries'][0]}"))
            children.seed_everything(self.job["init_seed"])
            start = perf_counter()
            model = self._stage("init", lambda: getattr(module, entry)(*self.job["init"]))
        if not isinstance(model, torch.nn.Module):
            raise CandidateError("init", TypeError(f"{entry} is not a torch.nn.Module"))
        self.model = self._stage("init", lambda: model.to(DEVICE))
        self._stage("init", torch.cuda.synchronize)
        self.seconds["init"] = perf_counter() - start
        loose = sum(1 for _ in children.loose_tensors(model))
        return {"loose": loose, "state": {k: list(v.shape) for k, v in children.all_state(model).items()}}

    def _install_extensions(self) -> None:
        glue = loader.load_glue(Path(self.job["glue"]))
        prepared = {key: (path, kind) for key, path, kind in self.job["extensions"]}

        def answer(extension: Any, name: str) -> Any:
            if extension.key in self.job["failed"]:
                raise loader.NotBuilt(self.job["failed"][extension.key])
            if extension.key not in prepared:
                raise loader.NotPrepared(f"the extension {name!r} was not among those built for this candidate")
            path, kind = prepared[extension.key]
            module = loader.load_library(glue, Path(path), kind, name)
            self.launches.add_extension(path, kind, module)
            return module

        loader.replace_builders(answer)

    def _load(self) -> Any:
        module, self.filename = children.load_source(self.job["source"], "candidate")
        return module

    @staticmethod
    def _stage(name: str, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except BaseException as error:  # noqa: BLE001 - exit() and Ctrl-C of generated code included
            raise CandidateError(name, error) from None

    def load_state(self, state: dict[str, torch.Tensor], training: bool) -> dict[str, Any]:
        """Take the reference's weights and mode."""
        assert self.model is not None
        model = self.model
        answer = self._stage("state", lambda: children.load_state(model, state))
        self._stage("state", lambda: model.train(training))
        self._stage("state", torch.cuda.synchronize)
        self.mapping = answer["mapping"]
        return answer

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run on the lent memory itself; with `corrupt`, every own kernel that can be left out is left out."""
        assert self.model is not None
        model, inputs, corrupt = self.model, request["inputs"], request["corrupt"]
        size = sum(t.numel() * t.element_size() for t in children.tensors_of(inputs)) + 512
        if size < LARGE // 4 or torch.cuda.mem_get_info(DEVICE)[0] > 8 * size:
            poison(size)
        self.launches.set_skip(corrupt)
        children.seed_everything(self.job["noise_seed"])
        log = OpLog()
        self.clock.deliver(inputs, request["staged"])
        start = perf_counter()
        # new tensors hold no old answer, not even where the library has just had one
        new: AbstractContextManager[Any]
        new = Banded(Watch(self.clock.wait, self.clock.capturing)) if corrupt and size < LARGE // 4 else nullcontext()
        with torch.no_grad(), log, new:
            output = self._stage("run", lambda: model(*inputs))
        self._stage("run", torch.cuda.synchronize)
        self.launches.set_skip(False)
        self.extra_threads = max(self.extra_threads, self.threads.extra())
        self.seconds["run"] = self.seconds.get("run", 0.0) + perf_counter() - start
        problem = None if corrupt else output_problem(output) or device_problem(output)
        rows = self.launches.take()
        if problem:
            return {"problem": problem}
        self.calls.append({"launches": rows[:256], "ops": log.rows, "corrupt": corrupt})
        held = dict(model.named_buffers())
        state = children.all_state(model)
        buffers = {name: state[own] for name, own in self.mapping.items() if own in held}
        return {"output": output, "inputs": None, "buffers": buffers, "guards": True, "problem": None}

    def watched(self, request: dict[str, Any]) -> dict[str, Any]:
        """One more call, under observation. What an observer may break by itself (an exception, memory that runs out)
        is told, and then another process goes on; only an access outside the tensors is held against anybody."""
        assert self.model is not None
        model, watch, log = self.model, Watch(self.clock.wait, self.clock.capturing), OpLog()
        inputs, fenced = self._behind_a_fence(request)
        held = {own: children.all_state(model)[own].detach().clone() for own in self._buffers()}
        children.seed_everything(self.job["noise_seed"])
        self.launches.watching = watch
        problem = ""
        try:
            with torch.no_grad(), log, Banded(watch):
                model(*inputs)
            self.clock.wait()
            watch.check("the last")
            children.write_buffers(model, held)
        except BaseException as error:  # noqa: BLE001 - generated code may raise anything
            problem = f"{type(error).__name__}: {error}"[:200]
            if is_illegal_address(error):
                watch.faulted = watch.faulted or "the last"
        finally:
            self.launches.watching = None
        self.launches.take()
        rows = watched_facts(watch)
        if not problem:
            self.calls.append({"launches": rows, "ops": log.rows, "corrupt": False, "watched": True})
        fault = watch.outside or watch.faulted
        verb = "writes" if watch.outside else "reads or writes"
        message = f"kernel {fault} {verb} outside its arguments' memory" if fault else problem
        return {"fault": "bounds" if fault else "", "message": message, "fenced": fenced,
                "copies": not problem and bool(rows) and only_lines(rows)}  # fmt: skip

    def _behind_a_fence(self, request: dict[str, Any]) -> tuple[list[Any], bool]:
        """The inputs where reading past them shows; on lent memory where the driver gives none such."""
        try:
            return self.fence.placed(request["staged"]), True
        except (CudaError, RuntimeError):
            self.clock.deliver(request["inputs"], request["staged"])
            self.clock.wait()
            return request["inputs"], False

    def _buffers(self) -> list[str]:
        """Names of the model's own buffers that stand for the reference's."""
        assert self.model is not None
        held = dict(self.model.named_buffers())
        return [own for own in self.mapping.values() if own in held]

    def timed(self, request: dict[str, Any]) -> dict[str, Any]:
        """One timed call on the lent memory."""
        assert self.model is not None
        model = self.model
        return self._stage("run", lambda: timed_call(self.clock, model, request))

    def report(self, look: Callable[[list[tamper.Row]], list[str]] = tamper.changed) -> dict[str, Any]:
        """Facts about the calls made so far; `look` names what was tampered with."""
        now = flags()
        return {
            "calls": self.calls, "tampered": look(self.baseline)[:5], "threads": self.extra_threads,
            "sealed": self.launches.sealed, "other_streams": self.launches.other_streams,
            "flags": sorted(name for name, value in self.flags.items() if now[name] != value), "seconds": self.seconds,
        }  # fmt: skip

    def failure(self, error: CandidateError) -> dict[str, Any]:
        """What happened, by type: the judge decides what it means."""
        cause = error.cause
        row = children.describe(cause, self.filename, "candidate")
        happened = "exception"
        if isinstance(cause, torch.OutOfMemoryError | MemoryError):
            happened = "memory"
        elif isinstance(cause, loader.NotPrepared):
            happened = "unprepared"
        elif isinstance(cause, loader.NotBuilt) or _is_kernel_error(cause):
            happened = "kernel"
        elif _is_out_of_resources(cause):
            happened = "unsupported"
        return {"stage": error.stage, "happened": happened, "seconds": self.seconds, "calls": len(self.calls), **row}


def device_problem(value: Any) -> dict[str, str] | None:
    """An output on the host where the device was asked for."""
    for tensor in children.tensors_of(value):
        if not tensor.is_cuda and tensor.dim():
            return {"kind": "type", "message": "the output is on the CPU, the inputs are on the GPU"}
    return None


def _is_kernel_error(cause: BaseException) -> bool:
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import PTXASError

    return isinstance(cause, CompilationError | PTXASError)


def _is_out_of_resources(cause: BaseException) -> bool:
    from triton.runtime.errors import OutOfResources

    return isinstance(cause, OutOfResources)
