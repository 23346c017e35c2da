"""What runs inside the children of a GPU's fork server: one reference, or one candidate, in a CUDA context of its own.

The parent has imported Torch and Triton but never touched the device, so each child gets a fresh context. No expected
value is here. Source: issue 4, items 3 and 4; DESIGN section 6.
"""

from __future__ import annotations

import ctypes
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kzlib.verifier import children, gpu_wire, loader, wire
from kzlib.verifier.candidate import CandidateError, flags, output_problem, threads
from kzlib.verifier.ops import OpLog
from kzlib.verifier.reference import Reference, TaskError

DEVICE = torch.device("cuda", 0)
MAX_SLEEP_CYCLES = 6_000_000  # about 3 ms


def warm_up() -> None:
    """Before any fork: import everything a child needs; no CUDA call."""
    import triton
    import triton.language
    import triton.runtime.jit
    from torch.utils import cpp_extension

    torch.set_num_threads(1)
    for module in (triton, cpp_extension):
        assert isinstance(module, ModuleType)
    if torch.cuda.is_initialized():
        raise RuntimeError("the fork server must not hold a CUDA context")
    model = torch.nn.Linear(4, 4)
    with torch.no_grad(), OpLog():
        torch.nn.functional.gelu(model(torch.randn(2, 4))).sum()


def _device_setup(tf32: bool) -> None:
    import triton

    cache = Path.cwd() / "triton"
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    triton.knobs.cache.dir = str(cache)
    torch.cuda.set_device(DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


class Clock:
    """Times one call with device events, cold and without the host's launch cost: flush, a short spin, start, call, end.

    Every function it needs is taken before generated code is imported.
    """

    def __init__(self) -> None:
        properties = torch.cuda.get_device_properties(DEVICE)
        self._flush = torch.empty(2 * properties.L2_cache_size // 4 + 1024, dtype=torch.int32, device=DEVICE)
        self._zero = torch.Tensor.zero_
        self._sleep = torch.cuda._sleep
        self._synchronize = torch.cuda.synchronize
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._record = torch.cuda.Event.record
        self._elapsed = torch.cuda.Event.elapsed_time
        self._now = time.perf_counter
        self.cycles = 200_000

    def time(self, call: Callable[[], Any]) -> tuple[Any, float]:
        """The call's result, and host microseconds it took to enqueue the call; `read` gives the device's."""
        self._synchronize()
        self._zero(self._flush)
        self._sleep(self.cycles)
        self._record(self._start)
        begun = self._now()
        result = call()
        enqueued = self._now() - begun
        self._record(self._end)
        return result, enqueued * 1e6

    def read(self) -> float:
        """Device microseconds of the last timed call, once everything has ended."""
        self._synchronize()
        return self._elapsed(self._start, self._end) * 1e3

    def settle(self, enqueue_us: float) -> None:
        """Spin about as long as the host needs to enqueue one call (the clock of the device is near 2 GHz)."""
        self.cycles = int(min(MAX_SLEEP_CYCLES, max(40_000, 2.0 * enqueue_us * 2000)))


def context_main(channel: socket.socket, walls: list[str]) -> None:
    """Measure what a fresh context costs: make one, answer, end."""
    wire.receive(channel)
    start = time.perf_counter()
    torch.ones(1, device=DEVICE).sum().item()
    wire.send(channel, {"event": "context", "seconds": time.perf_counter() - start, "walls": walls})


class GpuReference(Reference):
    """A reference whose weights and inputs are made on the device."""

    def _load(self, filename: list[str | None]) -> Any:
        with torch.device(self.device):
            return super()._load(filename)

    def _build(self) -> torch.nn.Module:
        with torch.device(self.device):
            return super()._build()

    def inputs(self, index: int) -> list[Any]:
        with torch.device(self.device):
            return super().inputs(index)


def reference_main(channel: socket.socket, walls: list[str]) -> None:
    """Answer one reference job, then serve as the baseline of timed pairs until the judge hangs up."""
    borrower = gpu_wire.Borrower(channel, 0)
    job = borrower.receive()
    filename: list[str | None] = [None]
    start = time.perf_counter()
    try:
        _device_setup(job["tf32"])
        clock = Clock()
        reference = GpuReference(job, filename, device=str(DEVICE))
        result = reference.results()
        result["seconds"]["reference_total"] = time.perf_counter() - start
        borrower.send({"event": "reference", "walls": walls, **result})
    except TaskError as error:
        row = children.describe(error.cause, filename[0], "task")
        borrower.send({"event": "failed", "stage": error.stage, **row})
        return
    del result
    _serve_timing(borrower, clock, reference.model)


def _serve_timing(borrower: gpu_wire.Borrower, clock: Clock, model: torch.nn.Module) -> None:
    while True:
        request = borrower.receive()
        borrower.send({"event": "timed", **_timed(clock, model, request)})


def _timed(clock: Clock, model: torch.nn.Module, request: dict[str, Any]) -> dict[str, Any]:
    with torch.no_grad():
        output, enqueue_us = clock.time(lambda: model(*request["inputs"]))
        kept = children.copy_tree(output)  # at once, before anything is waited for: late work on another stream is missed
    device_us = clock.read()
    if request.get("settle"):
        clock.settle(enqueue_us)
    return {"output": kept, "device_us": device_us, "enqueue_us": enqueue_us}


class Launches:
    """Counts launches of the candidate's own kernels, and can leave them out.

    Triton kernels are counted at `JITFunction.run`, lean extensions in their launch functions, NVRTC kernels at the call.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.skip = False
        self.sealed = True  # False when a kernel may run that nothing here can leave out
        self.extensions: list[ctypes.CDLL] = []
        self.current = None  # read by OpLog
        self.storages: dict[int, int] = {}
        self._extension_seen = 0

    def watch(self) -> None:
        """Put the counters in place; before the candidate is imported."""
        from torch.cuda import _utils
        from triton.runtime.jit import JITFunction

        run, call = JITFunction.run, _utils._CudaKernel.__call__

        def counted_run(function: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("warmup"):
                return run(function, *args, **kwargs)
            self._note(getattr(function, "__name__", "kernel"), args, kwargs)
            return None if self.skip else run(function, *args, **kwargs)

        def counted_call(kernel: Any, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), args: Any = None, *rest: Any, **named: Any) -> Any:
            self._note("nvrtc kernel", args or (), {})
            return None if self.skip else call(kernel, grid, block, args, *rest, **named)

        JITFunction.run = counted_run
        _utils._CudaKernel.__call__ = counted_call

    def add_extension(self, path: str, kind: str) -> None:
        """Watch a loaded extension."""
        if kind == "lean":
            self.extensions.append(ctypes.CDLL(path))
        else:
            self.sealed = False

    def set_skip(self, skip: bool) -> None:
        """Leave out every own kernel from now on, or no longer."""
        self.skip = skip
        for library in self.extensions:
            ctypes.c_int.in_dll(library, "kz_skip").value = int(skip)

    def take(self) -> list[dict[str, Any]]:
        """Launches since the last call."""
        rows, self.rows = self.rows, []
        total = sum(ctypes.c_longlong.in_dll(library, "kz_launches").value for library in self.extensions)
        rows += [_launch_facts("extension kernel", 0)] * min(4096, total - self._extension_seen)
        self._extension_seen = total
        if not self.sealed and not rows:
            rows.append(_launch_facts("kernel of a full extension", 0))
        return rows

    def _note(self, name: str, args: Any, kwargs: dict[str, Any]) -> None:
        values = (*args, *kwargs.values())
        size = sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
        if len(self.rows) < 100_000:
            self.rows.append(_launch_facts(name, size))


def _launch_facts(name: str, size: int) -> dict[str, Any]:
    """One launch in the form of the interpreter's records; what a GPU does not show is left neutral."""
    return {
        "name": name, "programs": 0, "loaded": size, "stored": 0, "unique": size, "flops": 0, "copy": False, "stores": 1,
        "conflict": "", "tuning": False,
    }  # fmt: skip


def candidate_main(channel: socket.socket, walls: list[str]) -> None:
    """Serve one candidate until the judge hangs up or the candidate fails."""
    borrower = gpu_wire.Borrower(channel, 0)
    job = borrower.receive()
    session = GpuSession(job, borrower)
    try:
        borrower.send({"event": "built", "walls": walls, **session.build()})
        while True:
            request = borrower.receive()
            if request.get("report"):
                borrower.send({"event": "report", **session.report()})
            elif "state" in request:
                borrower.send({"event": "state", **session.load_state(request["state"], request["training"])})
            elif request.get("time"):
                borrower.send({"event": "timed", **session.timed(request)})
            else:
                borrower.send({"event": "output", **session.call(request["inputs"], request["corrupt"])})
    except CandidateError as error:
        borrower.send({"event": "failed", **session.failure(error)})
    except wire.Foreign as error:
        borrower.send({"event": "failed", **session.failure(CandidateError("output", error))})


class GpuSession:
    """One candidate, loaded once, called several times, timed on request."""

    def __init__(self, job: dict[str, Any], borrower: gpu_wire.Borrower) -> None:
        self.job = job
        self.borrower = borrower
        self.filename: str | None = None
        self.model: torch.nn.Module | None = None
        self.mapping: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.calls: list[dict[str, Any]] = []
        self.launches = Launches()

    def build(self) -> dict[str, Any]:
        """Make a context, import the file, construct the model under the reference's seed."""
        start = time.perf_counter()
        _device_setup(self.job["tf32"])
        self.clock = Clock()
        torch.zeros(1, device=DEVICE)
        self.seconds["context"] = time.perf_counter() - start
        self.flags = flags()
        self.launches.watch()
        if self.job["glue"]:
            self._install_extensions()
        if self.job["shake"]:
            children.shake_initialisers(self.job["noise_seed"])
        self._poison(1 << 22)
        start = time.perf_counter()
        with torch.device(DEVICE):
            module = self._stage("load", self._load)
            self.seconds["load"] = time.perf_counter() - start
            entry = next((n for n in self.job["entries"] if isinstance(getattr(module, n, None), type)), None)
            if entry is None:
                raise CandidateError("load", AttributeError(f"the code defines no class {self.job['entries'][0]}"))
            children.seed_everything(self.job["init_seed"])
            start = time.perf_counter()
            model = self._stage("init", lambda: getattr(module, entry)(*self.job["init"]))
        if not isinstance(model, torch.nn.Module):
            raise CandidateError("init", TypeError(f"{entry} is not a torch.nn.Module"))
        self.model = self._stage("init", lambda: model.to(DEVICE))
        self._stage("init", torch.cuda.synchronize)
        self.seconds["init"] = time.perf_counter() - start
        self.threads: int | None = None
        loose = sum(1 for _ in children.loose_tensors(model))
        return {"loose": loose, "state": {k: list(v.shape) for k, v in children.all_state(model).items()}}

    def _install_extensions(self) -> None:
        glue = loader.load_glue(Path(self.job["glue"]))
        prepared = {key: (path, kind) for key, path, kind in self.job["extensions"]}

        def answer(extension: Any, name: str) -> Any:
            if extension.key not in prepared:
                raise loader.NotPrepared(f"the extension {name!r} was not among those built for this candidate")
            path, kind = prepared[extension.key]
            module = loader.load_library(glue, Path(path), kind, name)
            self.launches.add_extension(path, kind)
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

    @staticmethod
    def _poison(size: int) -> None:
        """Fill the free memory of this process's allocator with NaN patterns, small blocks and large ones."""
        spans = [4096] * 32 + [1 << 17] * 8 + [1 << 20, size, size]
        held = [torch.empty(n, dtype=torch.uint8, device=DEVICE).fill_(0xFF) for n in spans]
        del held

    def load_state(self, state: dict[str, torch.Tensor], training: bool) -> dict[str, Any]:
        """Take the reference's weights and mode."""
        assert self.model is not None
        model = self.model
        answer = self._stage("state", lambda: children.load_state(model, state))
        self._stage("state", lambda: model.train(training))
        self._stage("state", torch.cuda.synchronize)
        self.mapping = answer["mapping"]
        return answer

    def call(self, inputs: list[Any], corrupt: bool) -> dict[str, Any]:
        """Run on the lent memory itself; with `corrupt`, every own kernel that can be left out is left out."""
        assert self.model is not None
        model = self.model
        self._poison(sum(t.numel() * t.element_size() for t in children.tensors_of(inputs)) + 512)
        if self.threads is None:
            self.threads = threads()
        self.launches.set_skip(corrupt)
        children.seed_everything(self.job["noise_seed"])
        log = OpLog()
        start = time.perf_counter()
        with torch.no_grad(), log:
            output = self._stage("run", lambda: model(*inputs))
        self._stage("run", torch.cuda.synchronize)
        self.launches.set_skip(False)
        self.seconds["run"] = self.seconds.get("run", 0.0) + time.perf_counter() - start
        problem = None if corrupt else output_problem(output) or device_problem(output)
        rows = self.launches.take()
        if problem:
            return {"problem": problem}
        self.calls.append({"launches": rows[:256], "ops": log.rows, "corrupt": corrupt})
        held = dict(model.named_buffers())
        state = children.all_state(model)
        buffers = {name: state[own] for name, own in self.mapping.items() if own in held}
        return {"output": output, "inputs": None, "buffers": buffers, "guards": True, "problem": None}

    def timed(self, request: dict[str, Any]) -> dict[str, Any]:
        """One timed call on the lent memory."""
        assert self.model is not None
        model = self.model
        return self._stage("run", lambda: _timed(self.clock, model, request))

    def report(self) -> dict[str, Any]:
        """Facts about the calls made so far."""
        now = flags()
        return {
            "calls": self.calls, "tampered": [], "threads": 0, "sealed": self.launches.sealed,
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
        elif _is_kernel_error(cause):
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
