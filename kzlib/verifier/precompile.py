"""Compile a Triton candidate's kernels on a CPU worker, before it gets near the device, into the build store.

The child that does it has no inputs: the candidate runs on tensors without memory of the task's shapes, and every
launch is turned into a compilation. What cannot be followed so (branches on values) is compiled where it runs, as
without this file. Source: issue 4, items 2 and 3.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from kzlib.verifier import children, wire

MAX_BYTES = 32 << 20
MAX_FILES = 512
_NAME = re.compile(r"[\w-]{1,128}/[\w.-]{1,200}")
_KEPT = (".json", ".cubin", ".so")
_GROUP = "__grp__"
ADDRESS = 4096  # of a tensor without memory: Triton compiles for addresses that 16 divides


class TargetOnly:
    """Answers what Triton's compiler asks of a driver, for a device that is not there."""

    def __init__(self, arch: int) -> None:
        from triton.backends.compiler import GPUTarget

        self.target = GPUTarget("cuda", arch, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self.target

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)


class Elsewhere(TorchFunctionMode):
    """Tensors without memory (device meta) that say they are on the first GPU."""

    def __init__(self) -> None:
        super().__init__()
        from torch.utils._device import _device_constructors

        self._makers = _device_constructors()
        owner: Any = torch.Tensor
        self._said = {owner.device.__get__: torch.device("cuda", 0), owner.is_cuda.__get__: True,
                      owner.get_device: 0}  # fmt: skip

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in self._said:
            return self._said[func]
        if func is torch.Tensor.data_ptr:
            return ADDRESS + args[0].storage_offset() * args[0].element_size()
        if func is torch.Tensor.cuda:
            return args[0]
        if "device" in kwargs or func in self._makers:
            kwargs["device"] = "meta"
        if func is torch.Tensor.to:
            args = (args[0], *("meta" if _is_device(value) else value for value in args[1:]))
        return func(*args, **kwargs)


def _is_device(value: Any) -> bool:
    return isinstance(value, torch.device) or (isinstance(value, str) and value.startswith(("cuda", "cpu")))


def compile_main(channel: socket.socket, walls: list[str]) -> None:
    """Run a candidate on tensors without memory, compile what it launches, send the compiled files."""
    job = wire.receive(channel)
    cache = Path.cwd() / "triton"
    error = ""
    try:
        _compile(job, cache)
    except BaseException as failed:  # noqa: BLE001 - the candidate's own run will tell what is wrong with it
        error = f"{type(failed).__name__}: {failed}"[:300]
    wire.send(channel, {"event": "compiled", "files": collect(cache), "error": error})


def _compile(job: dict[str, Any], cache: Path) -> None:
    import triton

    triton.knobs.cache.dir = str(cache)
    triton.runtime.driver.set_active(TargetOnly(job["arch"]))
    launches_compile()
    follow(job, job["device"])


def follow(job: dict[str, Any], facts: dict[str, Any]) -> None:
    """Run a candidate once on tensors without memory, of its task's shapes, as if on the device of these facts."""
    _answer_as_the_device(facts)
    _leave_out_dynamo()
    with Elsewhere(), torch.no_grad():
        task, _ = children.load_source(job["task"], "task")
        init = task.get_init_inputs() if hasattr(task, "get_init_inputs") else []
        inputs = [v.cuda() if isinstance(v, torch.Tensor) else v for v in task.get_inputs()]
        module, _ = children.load_source(job["candidate"], "candidate")
        entry = next(name for name in job["entries"] if hasattr(module, name))
        getattr(module, entry)(*init).cuda()(*inputs)


def _leave_out_dynamo() -> None:
    """Some operators on tensors without memory import all of torch._dynamo (0.6 s) to be left alone by it. Who asks it
    for more cannot be followed here."""
    if "torch._dynamo" not in sys.modules:
        stub: Any = types.ModuleType("torch._dynamo")
        stub.disable = lambda function, *_, **__: function
        sys.modules["torch._dynamo"] = stub
        setattr(torch, "_dynamo", stub)  # noqa: B010 - a module of theirs, which the type checker knows


def _answer_as_the_device(facts: dict[str, Any]) -> None:
    """Host code of kernels asks how many multiprocessors there are and the like."""
    from types import SimpleNamespace

    cuda: Any = torch.cuda
    cuda.get_device_properties = lambda *_: SimpleNamespace(**facts["properties"])
    cuda.get_device_capability = lambda *_: tuple(facts["capability"])
    cuda.get_device_name = lambda *_: facts["properties"]["name"]
    cuda.current_device = lambda: 0
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 1
    cuda.synchronize = lambda *_: None


def device_facts(device: int) -> dict[str, Any]:
    """What `_answer_as_the_device` repeats."""
    found = torch.cuda.get_device_properties(device)
    names = ("name", "major", "minor", "total_memory", "multi_processor_count", "L2_cache_size", "warp_size",
             "shared_memory_per_block", "shared_memory_per_block_optin", "shared_memory_per_multiprocessor",
             "regs_per_multiprocessor", "max_threads_per_multi_processor")  # fmt: skip
    return {
        "properties": {name: getattr(found, name) for name in names if hasattr(found, name)},
        "capability": list(torch.cuda.get_device_capability(device)),
    }


def launches_compile() -> None:
    """From now on a launch of a Triton kernel compiles it and does nothing; autotuning compiles every configuration."""
    import triton.backends.nvidia.driver as nvidia
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    run = JITFunction.run

    def compiled(function: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        kernel = run(function, *args, grid=grid, warmup=True, **kwargs)
        if kernel is not None and hasattr(nvidia, "make_launcher"):  # older: a piece of C for each signature
            nvidia.CudaLauncher(kernel.src, kernel.metadata)
        return kernel

    def every(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
        for config in configs:
            with contextlib.suppress(Exception):  # a configuration that does not compile is left out by tuning too
                tuner.fn.run(*args, **kwargs, **config.all_kwargs())

    function_type, tuner_type = JITFunction, Autotuner
    setattr(function_type, "run", compiled)  # noqa: B010 - a method of a class that is not ours
    setattr(tuner_type, "run", every)  # noqa: B010


def collect(cache: Path) -> dict[str, bytes]:
    """The compiled files of a cache folder by `key/name`; group files hold paths: `install` makes them anew."""
    files = sorted(p for p in cache.glob("*/*") if p.is_file() and p.suffix in _KEPT and not p.name.startswith(_GROUP))
    return {f"{p.parent.name}/{p.name}": p.read_bytes() for p in files[:MAX_FILES]}


def checked(files: Any) -> dict[str, bytes]:
    """What a child sent, if it has the form of compiled files; `wire.WireError` otherwise."""
    if not isinstance(files, dict) or len(files) > MAX_FILES or not all(_is_file(*item) for item in files.items()):
        raise wire.WireError("compiled files of another form")
    if sum(map(len, files.values())) > MAX_BYTES:
        raise wire.WireError("more compiled code than is kept")
    return files


def _is_file(name: Any, content: Any) -> bool:
    named = isinstance(name, str) and _NAME.fullmatch(name) is not None and name.endswith(_KEPT)
    return named and isinstance(content, bytes)


def keep(files: dict[str, bytes], folder: Path) -> None:
    """Write compiled files into an entry of the store."""
    (folder / "kernels").mkdir()
    for name, content in files.items():
        path = folder / "kernels" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def kept(entry: Path) -> dict[str, bytes]:
    """The compiled files of an entry of the store."""
    return {f"{p.parent.name}/{p.name}": p.read_bytes() for p in sorted((entry / "kernels").glob("*/*"))}


def install(files: dict[str, bytes], cache: Path) -> None:
    """Lay compiled files out as Triton's cache does."""
    for name, content in files.items():
        path = cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for folder in {(cache / name).parent for name in files}:
        for made in _groups(folder):
            (folder / f"{_GROUP}{made}.json").write_text(
                json.dumps({"child_paths": {p.name: str(p) for p in folder.glob(f"{made}.*")}})
            )


def _groups(folder: Path) -> Iterator[str]:
    return (path.stem for path in folder.glob("*.json") if not path.name.startswith(_GROUP))
