"""What a GPU's fork server imports before any fork, and how its children begin: a fresh CUDA context each, then one
reference or one candidate. Source: issue 4, item 3.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import itertools
import os
import resource
import socket
import time
from pathlib import Path

import torch

from kzlib.verifier import gpu_wire, wire
from kzlib.verifier.gpu_baseline import reference_main
from kzlib.verifier.gpu_candidate import candidate_main, poison
from kzlib.verifier.gpu_clock import DEVICE, Clock
from kzlib.verifier.gpu_sizes import warm_up_meta
from kzlib.verifier.ops import OpLog

HOST_MEMORY = 32 << 30  # bytes


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


def bound_host_memory(more: int = HOST_MEMORY) -> None:
    """From now on this process takes at most so many bytes of the host's memory more. Private pages are counted, not
    addresses, of which the driver reserves far more than there is memory."""
    held = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (held + more, held + more))


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
        bound_host_memory()
    except Exception as error:  # noqa: BLE001 - whatever the driver says: the judge tries again
        wire.send(channel, {"event": "failed", "message": f"{type(error).__name__}: {error}"})
        return
    wire.send(channel, {"event": "warm", "seconds": time.perf_counter() - start})
    job = borrower.receive()
    if job["role"] == "reference":
        reference_main(borrower, clock, job, walls)
    else:
        candidate_main(borrower, clock, job, walls)
