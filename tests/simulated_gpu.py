"""A GPU played by the CPU, to run the GPU judge's own code end to end where there is no device.

Lent memory is shared memory, device tensors are CPU tensors, own kernels are calls of `torch.cuda._utils._CudaKernel`
(here a Python function). What it shows is the machinery: protocols, memory, processes, outcomes. Not: speed, kernels.
"""

from __future__ import annotations

import mmap
import os
import time
from types import SimpleNamespace
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

CARD = 24 << 30
FACTS = SimpleNamespace(L2_cache_size=1 << 16, multi_processor_count=4, name="simulated", total_memory=CARD)


class SharedBlock:
    """The interface of `gpu_memory.Block` over a memory file."""

    made = 0

    def __init__(self, device: int, size: int, descriptor: int) -> None:
        from kzlib.verifier import gpu_memory

        self.device, self.size, self._descriptor = device, size, descriptor
        self._memory: Any = mmap.mmap(descriptor, size)
        self._flat = torch.frombuffer(self._memory, dtype=torch.uint8)
        self.view = gpu_memory.Span.view.__get__(self)

    @staticmethod
    def make(device: int, size: int, fenced: bool = False) -> SharedBlock:
        SharedBlock.made += 1
        size = -(-size // 4096) * 4096
        descriptor = os.memfd_create("block")
        os.ftruncate(descriptor, size)
        return SharedBlock(device, size, descriptor)

    @staticmethod
    def open(device: int, size: int, descriptor: int) -> SharedBlock:
        return SharedBlock(device, size, descriptor)

    def lend(self) -> int:
        return os.dup(self._descriptor)

    def bytes(self, offset: int = 0, count: int | None = None) -> torch.Tensor:
        count = self.size - offset if count is None else count
        if offset < 0 or count < 0 or offset + count > self.size:
            raise ValueError("a view outside its block")
        return self._flat[offset : offset + count]

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._flat = None


class Event:
    """A stamp of the host's clock."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.at = 0.0

    def record(self, stream: Any = None) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return (end.at - self.at) * 1e3


class Kernel:
    """An own kernel: a Python function on tensors."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), args: Any = None, *rest: Any) -> Any:
        with _disable_current_modes():  # what a kernel does is no library operator
            return self.function(*args)


def install() -> None:
    """Replace what touches a device, in this process."""
    from torch.cuda import _utils

    from kzlib.verifier import gpu_memory, gpu_stock, gpu_wire

    cuda: Any = torch.cuda
    utils: Any = _utils
    for module in (gpu_memory, gpu_wire, gpu_stock):
        module.Block = SharedBlock  # type: ignore[attr-defined]
    gpu_memory.on_device = gpu_wire.on_device = lambda tensor: True  # type: ignore[attr-defined]
    utils._CudaKernel = Kernel
    cuda.synchronize = cuda.set_device = cuda._sleep = cuda.empty_cache = lambda *a, **k: None
    cuda.reset_peak_memory_stats = lambda *a, **k: None
    cuda.memory_allocated = cuda.max_memory_allocated = lambda *a, **k: 0
    cuda.mem_get_info = lambda *a, **k: (CARD, CARD)
    cuda.get_device_name = lambda *a, **k: "simulated"
    cuda.get_device_properties = lambda *a, **k: FACTS
    cuda.get_device_capability = lambda *a, **k: (9, 0)
    cuda.Event = Event
    cuda.is_current_stream_capturing = lambda: False
    torch._C._cuda_getCurrentRawStream = lambda *a: 0  # type: ignore[attr-defined]


def warm_up() -> None:
    """In the fork server, before any child."""
    from kzlib.verifier import gpu_baseline, gpu_candidate, gpu_child, gpu_clock, gpu_sizes

    gpu_sizes.warm_up_meta()
    install()
    for module in (gpu_baseline, gpu_candidate, gpu_child, gpu_clock):
        module.DEVICE = torch.device("cpu")  # type: ignore[attr-defined]
    gpu_candidate.device_problem = lambda value: None
    torch.set_num_threads(1)
