"""Would a GPU's compiler take the kernels that the interpreter has run? The front end alone answers, without a GPU.

The interpreter carries out a kernel's body as Python: it forgives a name that changes its type in a loop, a product of
tiles too small for any device, a dictionary. Here the candidate runs on tensors without memory, and each launch
goes through Triton's own front end for an NVIDIA target (AST to its first intermediate form, some 20 ms a kernel).
This finds mistakes; a candidate that means to can hide from it, and is then where it would be without it.
Source: issue 3, items 1 and 5; reports P10, P11.
"""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kzlib.verifier import precompile, wire

ARCH = 90
# What host code may ask about its device: an H100's answers.
DEVICE = {"properties": {"name": "NVIDIA H100", "major": 9, "minor": 0, "multi_processor_count": 132, "warp_size": 32,
                         "total_memory": 80 << 30, "L2_cache_size": 50 << 20,
                         "shared_memory_per_block_optin": 227 << 10}, "capability": [9, 0]}  # fmt: skip
MOST = 8  # launches of one kernel that are looked at: a loop on the host may launch it a thousand times


class _Taken(Exception):  # noqa: N818 - control flow: the front end is through, and what follows is not wanted
    """The kernel has its first intermediate form."""


class _Refused(BaseException):  # no Exception, or a candidate that catches those would turn to a library here
    """The front end does not take a kernel."""


def install(cache: Path) -> Counter[str]:
    """From now on a launch goes through the front end and no further; gives how many did, by kernel."""
    triton.knobs.cache.dir = str(cache)
    triton.runtime.driver.set_active(precompile.TargetOnly(ARCH))
    stages, run, taken = CUDABackend.add_stages, JITFunction.run, Counter[str]()

    def first_stages(self: Any, table: dict[str, Any], *args: Any) -> None:
        def stop(*_: Any) -> Any:
            raise _Taken

        stages(self, table, *args)
        table["ttgir"] = stop

    def checked(function: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> None:
        if taken[function.__name__] >= MOST:
            return
        try:
            run(function, *args, grid=grid, warmup=True, **kwargs)
        except _Taken:
            taken[function.__name__] += 1
        except CompilationError as error:
            raise _Refused(explained(function.__name__, error)) from None

    def first_config(tuner: Any, *args: Any, **kwargs: Any) -> None:
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        config = (tuner.prune_configs(kwargs) or tuner.configs)[0]
        tuner.fn.run(*args, **kwargs, **config.all_kwargs())

    backend_type, function_type, tuner_type = CUDABackend, JITFunction, Autotuner
    setattr(backend_type, "add_stages", first_stages)  # noqa: B010 - methods of classes that are not ours
    setattr(function_type, "run", checked)  # noqa: B010
    setattr(tuner_type, "run", first_config)  # noqa: B010
    return taken


def explained(kernel: str, error: CompilationError) -> str:
    """One line: the kernel, the line of its source, and what is wrong there."""
    cause: BaseException = error
    while isinstance(cause.__cause__, CompilationError):
        cause = cause.__cause__
    assert isinstance(cause, CompilationError)
    said = cause.error_message or str(cause.__cause__ or "")
    lines = (cause.src or "").splitlines()
    number = getattr(cause.node, "lineno", 0)
    where = f" at `{lines[number - 1].strip()[:120]}`" if 0 < number <= len(lines) else ""
    return f"Triton's compiler refuses kernel {kernel}{where}: {' '.join(said.split())[:300]}"


_TAKEN: list[Counter[str]] = []


def warm_up() -> None:
    """Before any fork: send one kernel through, so that no child pays for what Triton finds out once."""
    from kzlib.verifier import warm_kernel

    _TAKEN.append(install(Path.cwd() / "triton"))
    with precompile.Elsewhere():
        torch.randn(2, 2).cuda().mean(1)
        warm_kernel.run()
    _TAKEN[0].clear()


def main(channel: socket.socket, walls: list[str]) -> None:
    """Follow one candidate's launches; tell how many kernels were taken, what was refused, why it was not followed."""
    job = wire.receive(channel)
    triton.knobs.cache.dir = str(Path.cwd() / "triton")
    refused = lost = ""
    try:
        precompile.follow(job, DEVICE)
    except _Refused as error:
        refused = str(error)
    except BaseException as error:  # noqa: BLE001 - what needs values cannot be followed; that is held against nobody
        lost = f"{type(error).__name__}: {error}"[:200]
    with contextlib.suppress(OSError):  # the judge may have lost patience
        wire.send(channel, {"event": "front end", "kernels": len(_TAKEN[0]), "refused": refused, "lost": lost})
