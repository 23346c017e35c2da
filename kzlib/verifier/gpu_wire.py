"""Values with device tensors across a process border: JSON by `wire`, tensors in memory the judge owns and lends.

Judge to child: the tensors are laid out in a lent block, each between bands of a pattern, at the same places in every
message of the same form, so fresh contents appear under the same pointers. Child to judge: the child says how its
answer is laid out, the judge lends a poisoned block of that size, the child copies into it. Nothing a child allocated
is ever opened by the judge. Source: issue 4, item 3; DESIGN section 6, points 1-3.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Any

import torch

from kzlib.verifier import wire
from kzlib.verifier.children import tensors_of
from kzlib.verifier.gpu_memory import ALIGN, BAND, PATTERN, Block, Span, halves, on_device
from kzlib.verifier.pool import Child

TAG = "device tensor"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tensor lies in a block: offset in bytes, element type, shape, strides in elements."""

    offset: int
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def size(self) -> int:
        count = self.dtype.itemsize
        for n in self.shape:
            count *= n
        return count

    def to_json(self) -> dict[str, Any]:
        return {TAG: [self.offset, wire.NAMES[self.dtype], list(self.shape), list(self.stride)]}

    @staticmethod
    def from_json(row: Any, limit: int) -> Place:
        """A place inside a block of `limit` bytes; `wire.WireError` for anything else."""
        try:
            offset, name, shape, stride = row[TAG]
            place = Place(int(offset), wire.DTYPES[name], tuple(map(int, shape)), tuple(map(int, stride)))
        except (KeyError, TypeError, ValueError):
            raise wire.WireError("a malformed device tensor") from None
        negative = place.offset < 0 or min((*place.shape, *place.stride), default=0) < 0
        if negative or len(place.shape) != len(place.stride) or place.offset % 16 or place.offset + place.size > limit:
            raise wire.WireError("a device tensor outside its block")
        if place.size and not wire.is_dense(place.shape, place.stride):
            raise wire.WireError("a device tensor that is not dense")
        return place


class Layout:
    """Replaces the device tensors of a tree by places, in order of appearance."""

    def __init__(self, band: int = BAND) -> None:
        self.band = band
        self.end = band
        self.tensors: list[tuple[Place, torch.Tensor]] = []

    def pack(self, value: Any) -> Any:
        """The tree with places instead of tensors on a device; everything else is left to `wire`."""
        if isinstance(value, torch.Tensor) and on_device(value):
            if type(value) not in (torch.Tensor, torch.nn.Parameter):
                raise wire.Foreign(f"a tensor of the subclass {type(value).__qualname__}")
            if value.layout is not torch.strided or value.dtype not in wire.NAMES:
                raise wire.Foreign(f"a tensor of layout {value.layout} and dtype {value.dtype}")
            return self._place(value.detach()).to_json()
        if isinstance(value, list | tuple):
            kind = tuple if isinstance(value, tuple) else list
            return kind([self.pack(v) for v in value])
        if isinstance(value, dict):
            return {k: self.pack(v) for k, v in value.items()}
        return value

    def _place(self, tensor: torch.Tensor) -> Place:
        shape, stride = tuple(tensor.shape), tuple(tensor.stride())
        if tensor.numel() and not wire.is_dense(shape, stride):
            stride = tuple(torch.empty(shape, device="meta").stride())
        place = Place(self.end, tensor.dtype, shape, stride)
        self.tensors.append((place, tensor))
        self.end = -(-(place.offset + place.size) // ALIGN) * ALIGN + self.band
        return place

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(place for place, _ in self.tensors)

    def write(self, block: Span, skip: int = 0) -> None:
        """Copy every tensor to its place, the first `skip` left out."""
        for place, tensor in self.tensors[skip:]:
            if place.size:
                block.view(place.offset, place.dtype, place.shape, place.stride).copy_(tensor)


def unpack(value: Any, block: Span | None) -> Any:
    """The inverse of `Layout.pack`: places become views of `block`."""
    if isinstance(value, dict) and TAG in value:
        if block is None:
            raise wire.WireError("a device tensor without memory")
        place = Place.from_json(value, block.size)
        return block.view(place.offset, place.dtype, place.shape, place.stride)
    if isinstance(value, list | tuple):
        return type(value)([unpack(v, block) for v in value])
    if isinstance(value, dict):
        return {k: unpack(v, block) for k, v in value.items()}
    return value


class Lender:
    """The judge's end of one child's channel. Same `send` and `receive` as `pool.Child`, with device tensors.

    `arena` is a block the child has already opened: small values cross in it, and larger ones in blocks of their own.
    """

    def __init__(self, child: Child, device: int, arena: Block | None = None) -> None:
        self.child = child
        self.device = device
        self.arena = arena
        self.sent: tuple[Place, ...] = ()
        self._own: list[Block] = []
        self._start_small()

    def _start_small(self) -> None:
        parts = halves(self.arena) if self.arena is not None else (None, None)
        self.inbound: Span | None = parts[0]
        self.outbound: Span | None = parts[1]
        self.sent = ()

    @property
    def small(self) -> bool:
        """True while nothing but the arena was lent."""
        return not self._own

    def __getattr__(self, name: str) -> Any:
        return getattr(self.child, name)

    def send(self, value: Any, seconds: float = 60.0) -> None:
        """One value; its device tensors go to the lent block, between fresh bands.

        Under "inputs" the child finds the memory to compute on, and under "staged" the contents it copies there in
        stream order: work that does not wait for the current stream reads what stood there before.
        """
        layout = Layout()
        if isinstance(value, dict) and "inputs" in value:
            live = layout.pack({"inputs": value["inputs"]})
            waiting = len(layout.tensors)
            tree = {**layout.pack({**value, "inputs": None, "staged": value["inputs"]}), **live}
        else:
            waiting = 0
            tree = layout.pack(value)
        if self.outbound is not None:
            self.outbound.bytes().fill_(PATTERN)
        lend: Block | None = None
        if layout.tensors:
            if self.inbound is None or self.inbound.size < layout.end:
                lend = self.inbound = self._new(layout.end)
                self.sent = ()
            if self.sent != layout.places:
                self.inbound.bytes().fill_(PATTERN)
                self.sent = layout.places
            layout.write(self.inbound, waiting)
        torch.cuda.synchronize(self.device)
        self.child.send({"tree": tree, "lend": 0 if lend is None else lend.size}, seconds)
        if lend is not None:
            send_descriptor(self.child.channel, lend)

    def _new(self, size: int) -> Block:
        block = Block.make(self.device, size)
        self._own.append(block)
        return block

    def intact(self, inputs: Any) -> tuple[bool, bool]:
        """Whether the bands around everything sent hold the pattern, and whether the inputs hold what was sent.

        One question, because each waits for the device.
        """
        if self.inbound is None:
            return True, True
        start, checks = 0, []
        for place in (*self.sent, None):
            stop = place.offset if place is not None else self.inbound.size
            checks.append((self.inbound.bytes(start, stop - start) == PATTERN).all())
            start = place.offset + place.size if place is not None else stop
        bands = len(checks)
        checks += equal_bits(self.lent_inputs(inputs), inputs)
        found = torch.stack(checks).tolist()
        return all(found[:bands]), all(found[bands:])

    def lent_inputs(self, inputs: Any) -> Any:
        """What now stands where the inputs of the last message were to be computed on."""
        return unpack(Layout().pack(inputs), self.inbound)

    def receive(self, seconds: float, limit: int = 1 << 40) -> Any:
        """The child's next value; its device tensors are views of a block of the judge."""
        message = self.child.receive(seconds, wire.MAX_JSON)
        if not isinstance(message, dict) or "tree" not in message:
            raise wire.WireError("an answer of another form")
        wanted = message.get("bytes", 0)
        if type(wanted) is not int or wanted < 0 or wanted > limit:
            raise wire.WireError(f"{wanted} bytes of tensors where at most {limit} were expected")
        if not wanted:
            return unpack(message["tree"], self.outbound)  # tensors without elements, if any
        if message.get("stored") is True:  # in the block of its last answer, poisoned before this request
            if self.outbound is None or self.outbound.size < wanted:
                raise wire.WireError("an answer stored nowhere")
            return unpack(message["tree"], self.outbound)
        self._lend_answer(wanted)
        if self.child.receive(seconds, 1024) != {"stored": True}:
            raise wire.WireError("an answer of another form")
        return unpack(message["tree"], self.outbound)

    def _lend_answer(self, wanted: int) -> None:
        block = self._new(wanted)
        block.bytes().fill_(PATTERN)
        torch.cuda.synchronize(self.device)
        self.outbound = block
        self.child.send({"lend": block.size})
        send_descriptor(self.child.channel, block)

    def drop(self) -> None:
        """Both sides let go of everything but the arena. Only for a child that waits for a request; no answer comes."""
        self.child.send({"tree": {"drop": True}, "lend": 0})
        self.close()

    def close(self) -> None:
        """Let go of every block lent but the arena. Views of answers must not be used afterwards."""
        own, self._own = self._own, []
        self._start_small()
        for block in own:
            block.close()


PIECE = 1 << 28  # bytes compared at once: a comparison makes a mask of the same length


def equal_bits(now: Any, before: Any) -> list[torch.Tensor]:
    """For two trees of one form: answers, still on the device, whether each piece of each tensor has the same bits."""
    pairs = zip(tensors_of(now), tensors_of(before), strict=True)
    pieces = (
        pair
        for one, two in pairs
        if one.numel() and on_device(one)
        for pair in zip(*(t.detach().contiguous().reshape(-1).view(torch.uint8).split(PIECE) for t in (one, two)),
                        strict=True)
    )  # fmt: skip
    return [(a == b).all() for a, b in pieces]


def send_descriptor(channel: socket.socket, block: Block) -> None:
    """Lend a block over a socket; the far side opens it with `Borrower.open`."""
    descriptor = block.lend()
    try:
        channel.settimeout(30)
        socket.send_fds(channel, [b"\0"], [descriptor])
    except OSError as error:
        raise wire.Closed(f"the far side hung up ({error.strerror})") from None
    finally:
        os.close(descriptor)
        channel.settimeout(None)


class Borrower:
    """A child's end of the channel. Made before generated code runs; keeps its own references to what it uses."""

    def __init__(self, channel: socket.socket, device: int, arena: int = 0) -> None:
        self.channel = channel
        self.device = device
        self._synchronize = torch.cuda.synchronize
        self._process, self._leave = (os.getpid, os.getpid()), os._exit
        self._own: list[Block] = []
        self.arena = self._open(arena) if arena else None
        self._own.clear()
        self._start_small()

    def _start_small(self) -> None:
        parts = halves(self.arena) if self.arena is not None else (None, None)
        self.inbound: Span | None = parts[0]
        self.outbound: Span | None = parts[1]

    def _alone(self) -> None:
        """A process that generated code forked has the channel too: it ends where it would speak or listen."""
        ask, mine = self._process
        if ask() != mine:
            self._leave(1)

    def receive(self) -> Any:
        """The judge's next value; device tensors are views of the lent memory itself."""
        self._alone()
        while True:
            message = wire.receive(self.channel)
            if message["lend"]:
                self.inbound = self._open(message["lend"])
            value = unpack(message["tree"], self.inbound)
            if not (isinstance(value, dict) and value.get("drop")):
                return value
            self._drop()

    def _drop(self) -> None:
        own, self._own = self._own, []
        self._start_small()
        for block in own:
            block.close()

    def _open(self, size: int) -> Block:
        _, descriptors, _, _ = socket.recv_fds(self.channel, 1, 1)
        block = Block.open(self.device, size, descriptors[0])
        self._own.append(block)
        return block

    def send(self, value: Any) -> None:
        """One value; device tensors are copied into the memory the judge lends for it."""
        self._alone()
        layout = Layout(band=0)
        tree = layout.pack(value)
        wanted = layout.end
        here = self.outbound is not None and 0 < wanted <= self.outbound.size
        if here and self.outbound is not None:
            layout.write(self.outbound)
            self._synchronize()
        wire.send(self.channel, {"tree": tree, "bytes": wanted, "stored": here})
        if here or not wanted:
            return
        block = self._open(wire.receive(self.channel)["lend"])
        layout.write(block)
        self._synchronize()
        self.outbound = block
        wire.send(self.channel, {"stored": True})
