"""The candidate's process: loads it as a file, runs one instance on input sets sent one by one, reports facts.

No expected value, clock or verdict is here. What this process says about itself (launches, operators) is evidence a
determined attacker could forge; the outputs it sends are compared elsewhere. Source: issue 3, items 2, 4, 5.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter  # bound before the candidate can replace it
from typing import Any

import torch
import triton.runtime.interpreter as ti
from triton.runtime.autotuner import Autotuner

from kzlib.verifier import children, guard, interpreter, launches, ops, tamper, wire


class CandidateError(Exception):
    """Generated code failed; `stage` is load, init, state, run or output."""

    def __init__(self, stage: str, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.stage = stage
        self.cause = cause


_BASELINE: list[tamper.Row] = []
_FLAGS: dict[str, Any] = {}


def warm_up() -> None:
    """Before any fork: watch the interpreter, run a kernel once, and note which functions are whose."""
    torch.set_num_threads(1)
    children.seed_everything(0)
    interpreter.warm_up()
    _hide_host_views()
    _BASELINE.extend(tamper.noted(_owners()))


def _hide_host_views() -> None:
    """On a GPU a tensor has no numpy view; keep it so here, or numpy could do a kernel's work unseen."""

    def refuse(self: torch.Tensor, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert a device tensor to numpy: copy it to the host first")

    for name in ("numpy", "__array__", "__dlpack__"):
        setattr(torch.Tensor, name, refuse)


def _owners() -> dict[str, Any]:
    """Owners of the functions that the evidence rests on."""
    return {
        **tamper.shared_owners(), "triton interpreter": ti, "triton builder": ti.InterpreterBuilder,
        "triton executor": ti.GridExecutor, "triton function": ti.InterpretedFunction, "triton autotuner": Autotuner,
        "recorder": launches.Recorder, "launch": launches.Launch, "operator log": ops.OpLog, "wire": wire,
        "operators": ops, "launches": launches, "children": children, "interpreter hooks": interpreter,
        "session": Session, "tamper": tamper, "candidate": sys.modules[__name__],
    }  # fmt: skip


def tampered(look: Callable[[list[tamper.Row]], list[str]] = tamper.changed) -> list[str]:
    """Names of functions that are no longer what they were before the candidate ran."""
    return look(_BASELINE)


def flags() -> dict[str, Any]:
    """Global switches that change what library code computes or how long it takes."""
    return {
        "allow_tf32": torch.backends.cuda.matmul.allow_tf32, "cudnn_tf32": torch.backends.cudnn.allow_tf32,
        "matmul_precision": torch.get_float32_matmul_precision(), "default_dtype": str(torch.get_default_dtype()),
        "threads": torch.get_num_threads(), "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "fp16_reduction": str(torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
        "bf16_reduction": str(torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }  # fmt: skip


def threads() -> int:
    """Threads of this process."""
    return int(Path("/proc/self/status").read_text().split("Threads:")[1].split()[0])


def main(channel: socket.socket, walls: list[str]) -> None:
    """Serve one candidate until the judge hangs up or the candidate fails."""
    job = wire.receive(channel)
    session = Session(job)
    report = Session.report  # bound now, as its default is: the candidate may rebind the names later
    try:
        wire.send(channel, {"event": "built", "walls": walls, **session.build()})
        while True:
            request = wire.receive(channel)
            if request.get("report"):
                wire.send(channel, {"event": "report", **report(session)})
                continue
            if "state" in request:
                answer = session.load_state(request["state"], request["training"])
                wire.send(channel, {"event": "state", **answer})
                continue
            wire.send(channel, {"event": "output", **session.call(request["inputs"], request["corrupt"])})
    except CandidateError as error:
        wire.send(channel, {"event": "failed", **session.failure(error)})


class Session:
    """One candidate, loaded once and called several times."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.filename: str | None = None
        self.model: torch.nn.Module | None = None
        self.inputs: children.Guarded | None = None
        self.mapping: dict[str, str] = {}
        self.weights: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.seconds: dict[str, float] = {}
        self.calls: list[dict[str, Any]] = []
        self.extra_threads = 0
        self.recorder = interpreter.RECORDER

    def build(self) -> dict[str, Any]:
        """Import the file and construct the model under the reference's seed."""
        torch._C._set_deterministic_algorithms(True, warn_only=True)  # the public form imports torch._dynamo: 3 s
        deterministic: Any = torch.utils.deterministic
        deterministic.fill_uninitialized_memory = True  # torch.empty holds NaN, not an old answer
        self.flags = flags()
        self.recorder.reset()
        if self.job["shake"]:
            children.shake_initialisers(self.job["noise_seed"])
        if self.job["guard"]:
            guard.hide_verifier()
            guard.install(guard.trusted_prefixes())
        start = perf_counter()
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
        self.model = model
        self.seconds["init"] = perf_counter() - start
        self.threads = threads()
        loose = sum(1 for _ in children.loose_tensors(model))
        return {"loose": loose, "state": {k: list(v.shape) for k, v in children.all_state(model).items()}}

    def _load(self) -> Any:
        module, self.filename = children.load_source(self.job["source"], "candidate")
        return module

    @staticmethod
    def _stage(name: str, step: Any) -> Any:
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
        self.mapping = answer["mapping"]
        placed = [p for name, p in model.named_parameters() if name in self.mapping.values()]
        self.weights = _by_address(placed, [p.detach().clone() for p in placed])
        return answer

    def call(self, inputs: list[Any], corrupt: bool) -> dict[str, Any]:
        """Run on fresh contents under the same pointers; with `corrupt`, every store of an own kernel is spoiled."""
        assert self.model is not None
        model = self.model
        if self.inputs is None:
            self.inputs = children.Guarded(inputs)
        mine = self.inputs.write(inputs)
        for tensor in children.tensors_of(mine):
            self.recorder.storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        before = children.copy_tree(mine)
        self.recorder.given = {**self.weights, **_by_address(mine, before)}
        first = len(self.recorder.launches)
        self.recorder.corrupt = corrupt
        children.seed_everything(self.job["noise_seed"])
        log = ops.OpLog(self.recorder)
        start = perf_counter()
        with torch.no_grad(), log:
            output = self._stage("run", lambda: model(*mine))
        self.recorder.corrupt = False
        self.seconds["run"] = self.seconds.get("run", 0.0) + perf_counter() - start
        self.extra_threads = max(self.extra_threads, threads() - self.threads)
        problem = None if corrupt else output_problem(output)
        if problem:
            return {"problem": problem}
        self.calls.append({
            "launches": [launch.facts() for launch in self.recorder.launches[first:]],
            "ops": log.rows, "corrupt": corrupt,
        })  # fmt: skip
        changed = not all(map(children.same_bits, children.tensors_of(mine), children.tensors_of(before)))
        buffers = {name: children.all_state(model)[own] for name, own in self.mapping.items()
                   if own in dict(model.named_buffers())}  # fmt: skip
        return {
            "output": self._stage("output", lambda: children.copy_tree(output)), "inputs": mine if changed else None,
            "buffers": buffers, "guards": self.inputs.intact(), "problem": None,
        }  # fmt: skip

    def report(self, look: Callable[[], list[str]] = tampered) -> dict[str, Any]:
        """Facts about the calls made so far; `look` names what was tampered with."""
        now = flags()
        return {
            "calls": self.calls, "tampered": look()[:5], "threads": self.extra_threads,
            "flags": sorted(name for name, value in self.flags.items() if now[name] != value), "seconds": self.seconds,
        }  # fmt: skip

    def failure(self, error: CandidateError) -> dict[str, Any]:
        """What happened, by type: the judge decides what it means."""
        cause = error.cause
        row = children.describe(cause, self.filename, "candidate")
        happened = "exception"
        if isinstance(cause, launches.Fault):
            happened = cause.kind
        elif isinstance(cause, interpreter.Unsupported):
            happened = "unsupported"
        elif isinstance(cause, interpreter.KernelError):
            happened = "kernel"
        elif isinstance(cause, MemoryError):
            happened = "memory"
        elif not isinstance(cause, ImportError) and isinstance(cause, OSError | SystemExit | KeyboardInterrupt):
            happened = "system"  # refused by the sandbox, or an attempt to leave
        return {"stage": error.stage, "happened": happened, "seconds": self.seconds, "calls": len(self.calls), **row}


def _by_address(values: Any, copies: Any) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    """What the judge gave, by the address of its storage, each with a copy."""
    pairs = zip(children.tensors_of(values), children.tensors_of(copies), strict=True)
    return {tensor.untyped_storage().data_ptr(): (tensor.detach(), copy) for tensor, copy in pairs}


def output_problem(value: Any, depth: int = 0) -> dict[str, str] | None:
    """Why an output cannot be judged: a tensor that is not exactly a tensor with real memory, or a foreign type."""
    if isinstance(value, torch.Tensor):
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            return {"kind": "subclass", "message": f"the output is a {type(value).__name__}, not a torch.Tensor"}
        if value.device.type == "meta":
            return {"kind": "device", "message": "the output has no memory (device meta)"}
        if vars(value):
            return {
                "kind": "subclass",
                "message": f"the output tensor carries attributes of its own ({next(iter(vars(value)))})",
            }
        return None
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple) and depth < 32:
        return next((p for p in (output_problem(v, depth + 1) for v in value) if p), None)
    if value is None or isinstance(value, bool | int | float | complex | str):
        return None
    return {"kind": "type", "message": f"the output holds a {type(value).__name__}"}
