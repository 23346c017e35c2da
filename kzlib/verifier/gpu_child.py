"""What runs inside the children of a GPU's fork server: one reference, or one candidate, in a CUDA context of its own.

The parent has imported Torch and Triton but never touched the device, so each child gets a fresh context. No expected
value is here. Source: issue 4, items 3 and 4; DESIGN section 6.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import importlib
import itertools
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kzlib.verifier import children, gpu_wire, loader, precompile, wire
from kzlib.verifier.candidate import CandidateError, flags, output_problem, threads
from kzlib.verifier.gpu_clock import DEVICE, Clock, timed_call
from kzlib.verifier.gpu_launches import Launches
from kzlib.verifier.gpu_plan import LARGE, Need
from kzlib.verifier.ops import OpLog
from kzlib.verifier.reference import PLAIN, SHIFTED, Reference, TaskError


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
        with contextlib.suppress(Exception):  # where this Triton cannot compile for the device, a candidate is told
            warm_compiler(int(os.environ["KZ_ARCH"]))
        warm_up_meta()
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


def warm_compiler(arch: int) -> None:
    """Compile one kernel. What Triton then keeps for this process and every child forked from it: a hash of its own
    library, half a gigabyte, without which no stored kernel is found; the assembler's version; its imports."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from kzlib.verifier import warm_kernel

    types = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    triton.compile(ASTSource(warm_kernel.double, types, {"BLOCK": 128}), target=GPUTarget("cuda", arch, 32))


def _device_setup(tf32: bool) -> None:
    import triton

    cache = Path.cwd() / "triton"
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    triton.knobs.cache.dir = str(cache)
    torch.cuda.set_device(DEVICE)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


def context_main(channel: socket.socket, walls: list[str]) -> None:
    """Measure what a fresh context costs, piece by piece: make one, answer, end."""
    wire.receive(channel)
    marks, began = [time.perf_counter()], os.times()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
        for call in (lambda: cuda.cuInit(0), lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0),
                     lambda: torch.zeros(1, device=DEVICE), lambda: torch.ones(1, device=DEVICE).sum().item(),
                     Clock):  # fmt: skip
            call()
            marks.append(time.perf_counter())
    except Exception as error:  # noqa: BLE001 - whatever the driver says is the answer
        wire.send(channel, {"event": "failed", "message": f"{type(error).__name__}: {error}", "walls": walls})
        return
    pieces = [round(after - before, 4) for before, after in itertools.pairwise(marks)]
    names = ("driver", "context", "torch", "first_kernels", "clock")
    now = os.times()
    wire.send(channel, {
        "event": "context", "seconds": marks[-1] - marks[0], "walls": walls, "user": now.user - began.user,
        "system": now.system - began.system, **dict(zip(names, pieces, strict=True)),
    })  # fmt: skip


def sizes_main(channel: socket.socket, walls: list[str]) -> None:
    """What a task's tensors take; nothing where the meta device does not have the values: the caller assumes a size."""
    source = wire.receive(channel)["source"]
    try:
        told = sizes(source)
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        told = {"message": f"{type(error).__name__}: {error}"[:200]}
    wire.send(channel, {"event": "sizes", **told})


def sizes(source: str) -> dict[str, Any]:
    """Bytes of a task's inputs, answer, weights and workspace: everything is made and run on the meta device."""
    with torch.device("meta"), torch.no_grad():
        module, _ = children.load_source(source, "task")
        inputs = module.get_inputs()
        model = module.Model(*(module.get_init_inputs() if hasattr(module, "get_init_inputs") else []))
        with Sizes() as seen:
            output = model(*inputs)
    return {"inputs": _bytes(inputs), "outputs": _bytes(output), "weights": _bytes(children.all_state(model)),
            "workspace": 2 * seen.largest}  # fmt: skip


# What the meta device imports at its first use takes seconds: once here, and not in every child.
_WARM_TASK = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
            torch.nn.Linear(36, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
    def forward(self, x): return torch.softmax(self.layers(x).clamp(0, 1) * 2, -1).sum(-1, keepdim=True)
def get_inputs(): return [torch.rand(2, 3, 8, 8) + torch.randn(2, 3, 8, 8)]
"""


def warm_up_meta() -> None:
    """Use the meta device once, in the fork server's own scratch folder; no CUDA call."""
    sizes(_WARM_TASK)
    with precompile.Elsewhere(), torch.no_grad():
        torch.nn.Linear(4, 4).cuda()(torch.randn(2, 4, device="cuda"))


class Sizes(TorchDispatchMode):
    """Bytes of the largest result of any operator."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not getattr(func, "is_view", False):
            self.largest = max(self.largest, _bytes(result))
        return result


def _bytes(value: Any) -> int:
    return sum(t.numel() * t.element_size() for t in children.tensors_of(value))


class GpuReference(Reference):
    """A reference whose weights and inputs are made on the device, and whose sets are made when they are asked for.

    Where one set and its answer pass `gpu_plan.LARGE` there are two sets instead of four and no float64 run.
    """

    multiple = 16  # Triton compiles again for a length that 16 stops dividing

    def head(self) -> dict[str, Any]:
        """Everything but the sets: weights, operators of one call, and what a set takes."""
        start, before = time.perf_counter(), self._buffers()
        weights = _bytes(children.all_state(self.model))
        self.initial = copy.deepcopy(self.model) if weights < LARGE // 4 else self.model
        model = copy.deepcopy(self.initial) if weights < LARGE // 4 else self.model
        inputs = self.inputs(0)
        held = torch.cuda.memory_allocated(DEVICE)
        torch.cuda.reset_peak_memory_stats(DEVICE)
        children.seed_everything(self.noise_seed)
        with OpLog() as log:
            output = self.run(model, inputs)
        self._stage("run", torch.cuda.synchronize)
        peak = torch.cuda.max_memory_allocated(DEVICE) - held
        answer = _bytes(output)
        self.need = Need(_bytes(inputs), answer, weights, workspace=max(0, peak - answer))
        del inputs, output, model
        self._restore(before)
        self.exact = self._exact_model(self.model) if self.job["float64"] and not self.need.large else None
        self.kinds = [k for k in self.planned() if not self.need.large or k in (PLAIN, SHIFTED)]
        if self.need.large and len(self.kinds) > 2:
            self.kinds = [PLAIN, SHIFTED]
        self.before: list[tuple[Any, Any]] = []
        self.last: Any = None
        self.seconds["reference_head"] = time.perf_counter() - start
        return {
            "init": self.init, "init_seed": self.init_seed, "noise_seed": self.noise_seed,
            "state": children.all_state(self.model), "training": self.model.training, "ops": log.rows,
            "seconds": self.seconds, "kinds": self.kinds, "need": asdict(self.need),
        }  # fmt: skip

    def row(self, index: int) -> dict[str, Any]:
        """Set number `index`, the same each time: buffers begin as the sets before it left them."""
        while len(self.before) < index:
            self.row(len(self.before))
        if index == len(self.before):
            exact = None if self.exact is None else copy.deepcopy(dict(self.exact.named_buffers()))
            self.before.append((self._buffers(), exact))
        buffers, exact = self.before[index]
        self._restore(buffers)
        if self.exact is not None:
            _write_buffers(self.exact, exact)
        return self.make(index, self.kinds[index], self.exact)

    def again(self) -> Any:
        """The native answer to the first set once more, under another global seed."""
        if self.initial is self.model:
            self._restore(self.before[0][0] if self.before else self._buffers())
        inputs = self.inputs(0)
        children.seed_everything(self.noise_seed ^ 0x5A5A5A)
        return self.run(copy.deepcopy(self.initial) if self.initial is not self.model else self.model, inputs)

    def other(self, index: int, exact: Any) -> dict[str, Any] | None:
        """The set at another shape; buffers begin as every set before it left them."""
        if self.last is None:
            self.last = (self._buffers(), None if exact is None else copy.deepcopy(dict(exact.named_buffers())))
        self._restore(self.last[0])
        if exact is not None and self.last[1] is not None:
            _write_buffers(exact, self.last[1])
        return super().other(index, exact)

    def _buffers(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.model.named_buffers()}

    def _restore(self, buffers: dict[str, torch.Tensor]) -> None:
        _write_buffers(self.model, buffers)

    def _load(self, filename: list[str | None]) -> Any:
        with torch.device(self.device):
            return super()._load(filename)

    def _build(self) -> torch.nn.Module:
        with torch.device(self.device):
            return super()._build()

    def inputs(self, index: int) -> list[Any]:
        with torch.device(self.device):
            return super().inputs(index)


def _write_buffers(model: torch.nn.Module, buffers: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, tensor in model.named_buffers():
            if name in buffers:
                tensor.copy_(buffers[name])


def warm_main(channel: socket.socket, walls: list[str]) -> None:
    """Make a context and open the arena before the job is known, then serve one reference or one candidate."""
    start = time.perf_counter()
    order = wire.receive(channel)
    try:
        _device_setup(order["tf32"])
        clock = Clock()
        torch.zeros(1, device=DEVICE).add_(1).sum().item()
        poison(1 << 20)
        borrower = gpu_wire.Borrower(channel, 0, order["arena"])
    except Exception as error:  # noqa: BLE001 - whatever the driver says: the judge tries again
        wire.send(channel, {"event": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    wire.send(channel, {"event": "warm", "seconds": time.perf_counter() - start})
    job = borrower.receive()
    if job["role"] == "reference":
        reference_main(borrower, clock, job, walls)
    else:
        candidate_main(borrower, clock, job, walls)


def reference_main(borrower: gpu_wire.Borrower, clock: Clock, job: dict[str, Any], walls: list[str]) -> None:
    """Answer one reference job, then give sets and serve as the baseline of timed pairs until the judge hangs up."""
    filename: list[str | None] = [None]
    start = time.perf_counter()
    try:
        reference = GpuReference(job, filename, device=str(DEVICE))
        head = reference.head()
        head["seconds"]["reference_total"] = time.perf_counter() - start
        borrower.send({"event": "reference", "walls": walls, **head})
        del head
        while True:
            request = borrower.receive()
            if request.get("time"):
                borrower.send({"event": "timed", **timed_call(clock, reference.model, request)})
            elif request.get("other"):
                borrower.send({"event": "set", "row": reference.other(len(reference.kinds), reference.exact)})
            elif request.get("again"):
                borrower.send({"event": "set", "native": reference.again()})
            else:
                borrower.send({"event": "set", **reference.row(request["set"])})
            del request
            if reference.need.large:
                torch.cuda.empty_cache()
    except TaskError as error:
        row = children.describe(error.cause, filename[0], "task")
        memory = isinstance(error.cause, torch.OutOfMemoryError)
        borrower.send({"event": "failed", "stage": error.stage, "memory": memory, **row})


def candidate_main(borrower: gpu_wire.Borrower, clock: Clock, job: dict[str, Any], walls: list[str]) -> None:
    """Serve one candidate until the judge hangs up or the candidate fails."""
    session = GpuSession(job, borrower, clock)
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
        return self._stage("run", lambda: timed_call(self.clock, model, request))

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
