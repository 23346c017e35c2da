"""What runs inside the children of a GPU's fork server: one reference, or one candidate, in a CUDA context of its own.

The parent has imported Torch and Triton but never touched the device, so each child gets a fresh context. No expected
value is here. Source: issue 4, items 3 and 4; DESIGN section 6.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from kzlib.verifier import children, gpu_wire, loader, wire
from kzlib.verifier.candidate import CandidateError, flags, output_problem, threads
from kzlib.verifier.ops import OpLog
from kzlib.verifier.reference import WIDE, Reference, TaskError

DEVICE = torch.device("cuda", 0)
MAX_SLEEP_CYCLES = 6_000_000  # about 3 ms
DELAY_CYCLES = 1_000_000  # about 0.5 ms: longer than a host needs to start a kernel


def warm_up() -> None:
    """Before any fork: import everything a child needs; no CUDA call."""
    import triton
    import triton.language
    import triton.runtime.jit  # noqa: F401 - imported for the children

    torch.set_num_threads(1)
    asks = torch.cuda.is_available
    torch.cuda.is_available = lambda: True  # the next import asks, and asking starts the driver, which ends forking
    try:
        importlib.import_module("torch.utils.cpp_extension")
        _warm_triton()
    finally:
        torch.cuda.is_available = asks
    if torch.cuda._is_in_bad_fork() or torch.cuda.is_initialized():
        raise RuntimeError("the fork server must not touch the device")
    model = torch.nn.Linear(4, 4)
    with torch.no_grad(), OpLog():
        torch.nn.functional.gelu(model(torch.randn(2, 4))).sum()


def _warm_triton() -> None:
    """Compile and load Triton's own C helper here, once, instead of in every child; it does not start the driver."""
    import triton
    from triton.backends.nvidia.driver import CudaDriver

    triton.runtime.driver.set_active(CudaDriver())


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
        self._copy = torch.Tensor.copy_
        self._synchronize = torch.cuda.synchronize
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._record = torch.cuda.Event.record
        self._elapsed = torch.cuda.Event.elapsed_time
        self._now = time.perf_counter
        self.cycles = 200_000

    def time(self, call: Callable[[], Any], inputs: Any, staged: Any) -> tuple[Any, float]:
        """The call's result, and host microseconds it took to enqueue the call; `read` gives the device's."""
        self._synchronize()
        self.deliver(inputs, staged)
        self._zero(self._flush)
        self._sleep(self.cycles)
        self._record(self._start)
        begun = self._now()
        result = call()
        enqueued = self._now() - begun
        self._record(self._end)
        return result, enqueued * 1e6

    def deliver(self, inputs: Any, staged: Any) -> None:
        """Put the staged contents into the inputs, in stream order, a good while after this returns.

        Work on a stream that does not wait for the current one starts before and reads what stood there earlier.
        """
        self._sleep(DELAY_CYCLES)
        for live, fresh in zip(children.tensors_of(inputs), children.tensors_of(staged), strict=True):
            self._copy(live, fresh)

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
    try:
        torch.ones(1, device=DEVICE).sum().item()
    except Exception as error:  # noqa: BLE001 - whatever the driver says is the answer
        wire.send(channel, {"event": "failed", "message": f"{type(error).__name__}: {error}", "walls": walls})
        return
    wire.send(channel, {"event": "context", "seconds": time.perf_counter() - start, "walls": walls})


def sizes_main(channel: socket.socket, walls: list[str]) -> None:
    """Bytes of a task's inputs and weights, found without memory: everything is made on the meta device."""
    source = wire.receive(channel)["source"]
    try:
        with torch.device("meta"):
            module, _ = children.load_source(source, "task")
            total = _bytes(module.get_inputs())
            init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
            total += sum(t.numel() * t.element_size() for t in children.all_state(module.Model(*init)).values())
    except Exception:  # noqa: BLE001 - values the meta device does not have: the caller assumes a size
        total = -1
    wire.send(channel, {"event": "sizes", "bytes": total})


def _bytes(value: Any) -> int:
    return sum(t.numel() * t.element_size() for t in children.tensors_of(value))


class GpuReference(Reference):
    """A reference whose weights and inputs are made on the device.

    Where inputs and outputs of one set pass `LARGE` bytes there are two sets instead of four and no float64 run.
    """

    LARGE = 1 << 30
    large = False

    def results(self) -> dict[str, Any]:
        probe = self.inputs(0)
        self.large = _bytes(probe) > self.LARGE // 2
        del probe
        if self.large:
            self.job = {**self.job, "plain": 1, "float64": False}
        return super().results()

    def _probe(self, index: int, kind: str, exact: Any) -> dict[str, Any] | None:
        return None if self.large and kind == WIDE else super()._probe(index, kind, exact)

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
        borrower.forget_answer()
    except TaskError as error:
        row = children.describe(error.cause, filename[0], "task")
        borrower.send({"event": "failed", "stage": error.stage, **row})
        return
    del result
    torch.cuda.empty_cache()
    _serve_timing(borrower, clock, reference.model)


def _serve_timing(borrower: gpu_wire.Borrower, clock: Clock, model: torch.nn.Module) -> None:
    while True:
        request = borrower.receive()
        borrower.send({"event": "timed", **_timed(clock, model, request)})


def _timed(clock: Clock, model: torch.nn.Module, request: dict[str, Any]) -> dict[str, Any]:
    with torch.no_grad():
        output, enqueue_us = clock.time(lambda: model(*request["inputs"]), request["inputs"], request["staged"])
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
        self.other_streams = False
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
        if torch._C._cuda_getCurrentRawStream(0):
            self.other_streams = True
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
                borrower.send({"event": "output", **session.call(request)})
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
            if extension.key in self.job["failed"]:
                raise loader.NotBuilt(self.job["failed"][extension.key])
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

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run on the lent memory itself; with `corrupt`, every own kernel that can be left out is left out."""
        assert self.model is not None
        model, inputs, corrupt = self.model, request["inputs"], request["corrupt"]
        self._poison(sum(t.numel() * t.element_size() for t in children.tensors_of(inputs)) + 512)
        if self.threads is None:
            self.threads = threads()
        self.launches.set_skip(corrupt)
        children.seed_everything(self.job["noise_seed"])
        log = OpLog()
        self.clock.deliver(inputs, request["staged"])
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
            "other_streams": self.launches.other_streams,
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
