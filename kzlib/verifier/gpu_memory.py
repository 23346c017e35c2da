"""Device memory the judge owns and lends: made here, opened by a child through a descriptor, never the reverse.

A block is a CUDA virtual-memory allocation exported as a descriptor, so it crosses process, user and pid borders with
the socket it is sent over and ends with its last user. Source: issue 4, item 3; verifiers.md B4, B6.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
from collections.abc import Sequence
from typing import Any

import torch

BAND = 4096  # bytes of pattern before and after every tensor lent
ALIGN = 512
OUT_OF_MEMORY = "CUDA_ERROR_OUT_OF_MEMORY"
PATTERN = 0xFF  # all ones: NaN as a float of any width, -1 as an integer


class CudaError(RuntimeError):
    """A call of the CUDA driver failed; `name` is the driver's own."""

    def __init__(self, call: str, code: int) -> None:
        text = ctypes.c_char_p()
        driver().cuGetErrorName(code, ctypes.byref(text))
        self.name = (text.value or b"unknown").decode()
        super().__init__(f"{call}: {self.name}")


_driver: ctypes.CDLL | None = None


def driver() -> ctypes.CDLL:
    """The CUDA driver library."""
    global _driver  # noqa: PLW0603 - one library a process
    if _driver is None:
        _driver = ctypes.CDLL("libcuda.so.1")
    return _driver


def _check(call: str, *arguments: Any) -> None:
    code = getattr(driver(), call)(*arguments)
    if code:
        raise CudaError(call, code)


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Flags(ctypes.Structure):
    _fields_ = (
        ("compression", ctypes.c_ubyte),
        ("rdma", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    )


class _Properties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", _Flags),
    )


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


_PINNED, _DESCRIPTOR, _DEVICE, _READ_WRITE = 1, 1, 1, 3


def on_device(tensor: torch.Tensor) -> bool:
    """True for a tensor that crosses in lent memory."""
    return tensor.is_cuda


class Span:
    """Device memory of this process that tensors can be laid over: a block, or a part of one."""

    device: int
    size: int

    def bytes(self, offset: int = 0, count: int | None = None) -> torch.Tensor:
        """A uint8 view; out-of-range is an error."""
        raise NotImplementedError

    def view(self, offset: int, dtype: torch.dtype, shape: Sequence[int], stride: Sequence[int]) -> torch.Tensor:
        """A tensor over dense memory that starts at `offset`."""
        count = math.prod(shape) * dtype.itemsize
        if count == 0:
            return torch.empty(tuple(shape), dtype=dtype, device=self.bytes(0, 0).device)
        return self.bytes(offset, count).view(dtype).as_strided(tuple(shape), tuple(stride))


class Part(Span):
    """A part of a block. It ends with the block."""

    def __init__(self, block: Span, start: int, size: int) -> None:
        self.device, self.size = block.device, size
        self._block, self._start = block, start

    def bytes(self, offset: int = 0, count: int | None = None) -> torch.Tensor:
        """A uint8 view; out-of-range is an error."""
        count = self.size - offset if count is None else count
        if offset < 0 or count < 0 or offset + count > self.size:
            raise ValueError("a view outside its part of a block")
        return self._block.bytes(self._start + offset, count)


def halves(block: Span) -> tuple[Part, Part]:
    """The lower and the upper half: what the judge lends, and what a child answers in."""
    middle = block.size // 2 // ALIGN * ALIGN
    return Part(block, 0, middle), Part(block, middle, block.size - middle)


class Block(Span):
    """A span of device memory of this process. `make` allocates and can lend; `open` maps a lent one."""

    def __init__(self, device: int, size: int, handle: ctypes.c_ulonglong, beyond: int = 0) -> None:
        self.device = device
        self.size = size
        self._reserved = size + beyond
        self._handle = handle
        self.pointer = 0
        address = ctypes.c_ulonglong()
        _check(
            "cuMemAddressReserve",
            ctypes.byref(address),
            ctypes.c_size_t(self._reserved),
            ctypes.c_size_t(0),
            ctypes.c_ulonglong(0),
            ctypes.c_ulonglong(0),
        )
        _check("cuMemMap", address, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_ulonglong(0))
        access = _Access(_Location(_DEVICE, device), _READ_WRITE)
        _check("cuMemSetAccess", address, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
        self.pointer = address.value

    @staticmethod
    def make(device: int, size: int, fenced: bool = False) -> Block:
        """Allocate at least `size` bytes. `CudaError` named CUDA_ERROR_OUT_OF_MEMORY when they are not there.

        Behind a `fenced` block lie addresses that stay empty: an access there is an error of the device.
        """
        torch.cuda.current_stream(device)  # the primary context exists and is current
        properties = _Properties(_PINNED, _DESCRIPTOR, _Location(_DEVICE, device), None, _Flags())
        step = ctypes.c_size_t()
        _check("cuMemGetAllocationGranularity", ctypes.byref(step), ctypes.byref(properties), ctypes.c_int(0))
        size = max(1, math.ceil(size / step.value)) * step.value
        handle = ctypes.c_ulonglong()
        _check(
            "cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(properties), ctypes.c_ulonglong(0)
        )
        return Block(device, size, handle, step.value if fenced else 0)

    def lend(self) -> int:
        """A new descriptor for another process; close it after sending."""
        descriptor = ctypes.c_int(-1)
        _check(
            "cuMemExportToShareableHandle",
            ctypes.byref(descriptor),
            self._handle,
            ctypes.c_int(_DESCRIPTOR),
            ctypes.c_ulonglong(0),
        )
        return descriptor.value

    @staticmethod
    def open(device: int, size: int, descriptor: int) -> Block:
        """Map a lent block; the descriptor is closed."""
        handle = ctypes.c_ulonglong()
        try:
            _check(
                "cuMemImportFromShareableHandle",
                ctypes.byref(handle),
                ctypes.c_void_p(descriptor),
                ctypes.c_int(_DESCRIPTOR),
            )
        finally:
            os.close(descriptor)
        return Block(device, size, handle)

    def bytes(self, offset: int = 0, count: int | None = None) -> torch.Tensor:
        """A uint8 view; out-of-range is an error."""
        count = self.size - offset if count is None else count
        if offset < 0 or count < 0 or offset + count > self.size:
            raise ValueError("a view outside its block")
        storage = torch._C._construct_storage_from_data_pointer(
            self.pointer + offset, torch.device("cuda", self.device), count
        )
        return torch.empty(0, dtype=torch.uint8, device=torch.device("cuda", self.device)).set_(
            storage, 0, (count,), (1,)
        )

    def close(self) -> None:
        """Unmap and let go, once the device is done. Views of the block must not be used afterwards."""
        if self.pointer:
            torch.cuda.synchronize(self.device)
            address, self.pointer = ctypes.c_ulonglong(self.pointer), 0
            _check("cuMemUnmap", address, ctypes.c_size_t(self.size))
            _check("cuMemAddressFree", address, ctypes.c_size_t(self._reserved))
            _check("cuMemRelease", self._handle)

    def __del__(self) -> None:
        # the process or its context is ending, which frees the block anyway
        with contextlib.suppress(CudaError, RuntimeError, TypeError, AttributeError):
            self.close()
