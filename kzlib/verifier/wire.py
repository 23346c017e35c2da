"""How values cross a process border: a JSON tree and the raw bytes of its tensors. Nothing is ever unpickled.

A frame is `magic, JSON length, blob length` (little endian), the JSON text, then the tensors' bytes one after another.
Both sides are ours, but the far side may run generated code, so `receive` checks every size before it reads and
`decode` accepts only the types listed here. Source: issue 3, items 2 and 4.
"""

from __future__ import annotations

import json
import math
import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

import torch

MAGIC = 0x4B5A5752
HEADER = struct.Struct("<IIQ")
MAX_JSON = 32 << 20
MAX_RANK = 32

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
        torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool, torch.complex64, torch.complex128,
        torch.float8_e4m3fn, torch.float8_e5m2,
    )
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}

# Kept from before any candidate could replace them: a child encodes with these after foreign code has run.
_TENSOR_TYPES = (torch.Tensor, torch.nn.Parameter)
_is_tensor = torch.Tensor
_detach = torch.Tensor.detach
_contiguous = torch.Tensor.contiguous
_resolve = torch.Tensor.resolve_conj
_resolve_neg = torch.Tensor.resolve_neg
_view = torch.Tensor.view
_reshape = torch.Tensor.reshape
_cpu = torch.Tensor.cpu
_numpy = torch.Tensor.numpy
_stride = torch.Tensor.stride
_as_strided = torch.Tensor.as_strided


class WireError(ValueError):
    """The far side sent something that is not a frame of ours, or more than was allowed."""


class Closed(WireError):  # noqa: N818
    """The far side hung up in the middle of a frame, or before one."""


class Deadline(TimeoutError):  # noqa: N818
    """The far side did not answer in time."""


class Foreign(TypeError):  # noqa: N818
    """A value that cannot cross: its type is named in the message."""


def is_dense(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """True where the strides visit every element of one block once, in any order of axes.

    >>> is_dense((2, 3), (3, 1)), is_dense((2, 3), (1, 2)), is_dense((2, 3), (0, 1))
    (True, True, False)
    """
    expected = 1
    for step, size in sorted((st, sz) for sz, st in zip(shape, stride, strict=True) if sz != 1):
        if step != expected:
            return False
        expected *= size
    return True


def encode(value: Any) -> tuple[Any, list[bytes | memoryview]]:
    """A value as JSON types plus the bytes of its tensors, in order.

    >>> encode((1, [2.5, None]))[0]
    {'t': 'tuple', 'v': [1, {'t': 'list', 'v': [2.5, None]}]}
    """
    blobs: list[bytes | memoryview] = []
    return _encode(value, blobs, 0), blobs


def _encode(value: Any, blobs: list[bytes | memoryview], depth: int) -> Any:
    if depth > 64:
        raise Foreign("a value nested deeper than 64 levels")
    kind = type(value)
    if value is None or kind in (bool, str) or (kind is int and abs(value) < 1 << 63):
        return value
    if kind is int:
        return {"t": "int", "v": str(value)}
    if kind is float:
        return value if math.isfinite(value) else {"t": "float", "v": repr(value)}
    if kind is complex:
        return {"t": "complex", "v": [repr(value.real), repr(value.imag)]}
    if isinstance(value, _is_tensor):
        return _encode_tensor(value, blobs)
    if kind is bytes:
        blobs.append(value)
        return {"t": "bytes", "n": len(value)}
    if kind in (list, set, torch.Size) or isinstance(value, tuple):
        tag = "tuple" if isinstance(value, tuple) else "list"
        return {"t": tag, "v": [_encode(item, blobs, depth + 1) for item in value]}
    if isinstance(value, dict):
        pairs = [[_encode(k, blobs, depth + 1), _encode(v, blobs, depth + 1)] for k, v in value.items()]
        return {"t": "dict", "v": pairs}
    if kind is torch.dtype and value in NAMES:
        return {"t": "dtype", "v": NAMES[value]}
    if kind is torch.device:
        return {"t": "device", "v": value.type}
    if kind is slice:
        return {"t": "slice", "v": [value.start, value.stop, value.step]}
    raise Foreign(f"a value of type {kind.__module__}.{kind.__qualname__}")


def _encode_tensor(value: torch.Tensor, blobs: list[bytes | memoryview]) -> dict[str, Any]:
    if type(value) not in _TENSOR_TYPES:
        raise Foreign(f"a tensor of the subclass {type(value).__qualname__}")
    if value.layout is not torch.strided:
        raise Foreign(f"a tensor of layout {value.layout}")
    if value.dtype not in NAMES:
        raise Foreign(f"a tensor of dtype {value.dtype}")
    plain = _resolve_neg(_resolve(_detach(value)))
    shape, stride = list(plain.shape), list(_stride(plain))
    if not is_dense(shape, stride):
        plain = _contiguous(plain)
        stride = list(_stride(plain))
    plain = _cpu(plain)
    flat = _as_strided(plain, (plain.numel(),), (1,)) if plain.numel() else _reshape(plain, (0,))
    raw = memoryview(_numpy(_view(flat, torch.uint8)).data) if plain.numel() else memoryview(b"")
    blobs.append(raw)
    return {"t": "tensor", "dtype": NAMES[value.dtype], "shape": shape, "stride": stride, "n": raw.nbytes}


def decode(node: Any, blob: memoryview) -> Any:
    """The inverse of `encode`; tensors own a private copy of their bytes. `WireError` for anything unexpected.

    >>> decode(encode((1, [2.5, None]))[0], memoryview(b""))
    (1, [2.5, None])
    """
    reader = _Reader(blob)
    try:
        value = reader.value(node)
    except (KeyError, TypeError, IndexError, RecursionError, OverflowError, ValueError) as error:
        raise WireError(f"malformed value ({type(error).__name__})") from None
    if reader.position != len(blob):
        raise WireError("bytes left over after the last tensor")
    return value


class _Reader:
    def __init__(self, blob: memoryview) -> None:
        self.blob = blob
        self.position = 0

    def take(self, count: Any) -> memoryview:
        if type(count) is not int or count < 0 or self.position + count > len(self.blob):
            raise WireError("a tensor claims more bytes than were sent")
        raw = self.blob[self.position : self.position + count]
        self.position += count
        return raw

    def value(self, node: Any) -> Any:
        if node is None or isinstance(node, bool | int | float | str):
            return node
        tag, content = node["t"], node.get("v")
        if tag in ("list", "tuple"):
            items = [self.value(item) for item in content]
            return tuple(items) if tag == "tuple" else items
        if tag == "dict":
            return {self.value(k): self.value(v) for k, v in content}
        if tag == "tensor":
            return self.tensor(node)
        simple: dict[str, Any] = {
            "int": int, "float": float, "complex": lambda v: complex(float(v[0]), float(v[1])),
            "dtype": lambda v: DTYPES[v], "device": torch.device, "slice": lambda v: slice(*v),
        }  # fmt: skip
        if tag == "bytes":
            return bytes(self.take(node["n"]))
        if tag not in simple:
            raise WireError("an unknown type tag")
        return simple[tag](content)

    def tensor(self, node: dict[str, Any]) -> torch.Tensor:
        dtype, shape, stride = DTYPES[node["dtype"]], node["shape"], node["stride"]
        if (
            len(shape) > MAX_RANK
            or len(stride) != len(shape)
            or any(type(n) is not int or n < 0 for n in [*shape, *stride])
        ):
            raise WireError("a tensor of impossible shape")
        count = math.prod(shape)
        if count * dtype.itemsize != node["n"] or (count and not is_dense(shape, stride)):
            raise WireError("a tensor whose bytes do not fit its shape")
        raw = self.take(node["n"])
        if not count:
            return torch.empty(shape, dtype=dtype)
        flat = torch.frombuffer(bytearray(raw), dtype=dtype)
        return flat.as_strided(shape, stride)


def _wait(channel: socket.socket, event: int, deadline: float | None) -> None:
    if channel.fileno() < 0:  # closed on this side, by whoever ended the child
        raise Closed
    poller = select.poll()
    poller.register(channel, event)
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Deadline
        if poller.poll(None if left is None else max(1.0, left * 1000)):
            return


def send(channel: socket.socket, value: Any, deadline: float | None = None) -> None:
    """Write one frame. `Closed` if nobody listens, `Deadline` (monotonic seconds) if the far side does not read."""
    tree, blobs = encode(value)
    text = json.dumps(tree, allow_nan=False, separators=(",", ":")).encode()
    total = sum(memoryview(b).nbytes for b in blobs)
    for part in (HEADER.pack(MAGIC, len(text), total) + text, *blobs):
        view = memoryview(part).cast("B")
        while view:
            try:
                sent = channel.send(view, socket.MSG_DONTWAIT)
            except BlockingIOError:
                _wait(channel, select.POLLOUT, deadline)
                continue
            except OSError as error:
                raise Closed(f"the far side hung up ({error.strerror})") from None
            view = view[sent:]


def receive(channel: socket.socket, deadline: float | None = None, limit: int = 1 << 40) -> Any:
    """Read one frame whose blob is at most `limit` bytes."""
    magic, text_length, blob_length = HEADER.unpack(_read(channel, HEADER.size, deadline))
    if magic != MAGIC or text_length > MAX_JSON:
        raise WireError("not a frame")
    if blob_length > limit:
        raise WireError(f"{blob_length} bytes of tensors where at most {limit} were expected")
    text = _read(channel, text_length, deadline)
    blob = _read(channel, blob_length, deadline)
    try:
        tree = json.loads(bytes(text))
    except (ValueError, RecursionError):
        raise WireError("a frame without valid JSON") from None
    return decode(tree, memoryview(blob))


def _read(channel: socket.socket, count: int, deadline: float | None) -> bytearray:
    buffer = bytearray(count)
    view = memoryview(buffer)
    while view:
        try:
            got = channel.recv_into(view, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            _wait(channel, select.POLLIN, deadline)
            continue
        except OSError as error:
            raise Closed(f"the far side hung up ({error.strerror})") from None
        if got == 0:
            raise Closed("the far side hung up")
        view = view[got:]
    return buffer
