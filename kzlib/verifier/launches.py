"""What one interpreted kernel launch did: which bytes it touched, from which program, and whether that was allowed.

Plain numpy, no Triton: `interpreter` feeds it. Source: issue 3, item 5; reports P10, P11; catalogue B21, B36, B37.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import torch

from kzlib.verifier.affine import line_of_any, same_line
from kzlib.verifier.children import same_bits

SECTOR = 32  # bytes: the unit in which a GPU moves memory
MAX_TRACKED = 64 << 20  # bytes of one storage beyond which conflicts between programs are not tracked


class Fault(Exception):  # noqa: N818 - raised inside kernels, named for what the reader sees
    """An access a GPU would punish, or a failed device assertion. `kind`: bounds, null, assert."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Range:
    __slots__ = ("end", "loaded", "reader", "sectors", "start", "stored", "tracked", "writer")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.sectors = np.zeros((end - start) // SECTOR + 1, dtype=bool)
        self.tracked = end - start <= MAX_TRACKED
        self.loaded = self.stored = False  # by any program of the launch, so far
        self.writer: np.ndarray | None = None  # program that last wrote each byte, plus one; made on the first store
        self.reader: np.ndarray | None = None

    def owners(self) -> tuple[np.ndarray, np.ndarray]:
        if self.writer is None or self.reader is None:
            self.writer = np.zeros(self.end - self.start, dtype=np.int32)
            self.reader = np.zeros(self.end - self.start, dtype=np.int32)
        return self.writer, self.reader


class Launch:
    """The record of one launch. `access` is called before memory is touched and raises `Fault` if it must not be."""

    def __init__(self, name: str, filename: str, tensors: list[torch.Tensor], recorder: Recorder) -> None:
        self.name = name
        self.filename = filename
        self.recorder = recorder
        self.loaded_bytes = self.stored_bytes = self.flops = 0
        self.programs = 0
        self.atomics = False
        self.conflict = ""
        self.copies = True  # so far every store wrote loaded values as they were, or on one straight line
        self.line: tuple[float, float] | None = None
        self.stores = 0
        self.tuning = False
        self.read: set[int] = set()  # addresses of the storages it loaded from
        self.given = False
        self.pointer_tables = False
        self.loaded: list[np.ndarray] = []
        self.unique_bytes = 0  # bytes of memory touched at least once, in whole sectors
        self._program: tuple[int, int, int] | None = None
        spans: dict[int, int] = {}
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                spans[storage.data_ptr()] = max(storage.nbytes(), spans.get(storage.data_ptr(), 0))
        self.ranges = [_Range(start, start + size) for start, size in sorted(spans.items())]
        self.starts = np.array([r.start for r in self.ranges], dtype=np.uint64)
        self.ends = np.array([r.end for r in self.ranges], dtype=np.uint64)

    def access(
        self, kind: str, pointers: np.ndarray, mask: np.ndarray | None, size: int, program: tuple[int, int, int],
        value: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Check and count one access of `size` bytes a lane by the active lanes."""
        if program != self._program:
            self._program = program
            self.programs += 1
            self.loaded.clear()
        lanes = pointers.reshape(-1) if mask is None else pointers[mask]
        if lanes.size == 0:
            return
        if kind == "load":
            self.loaded_bytes += lanes.size * size
        else:
            self.stored_bytes += lanes.size * size
            self.stores += 1
        if kind == "atomic":
            self.atomics = True
            self.copies = False
        for span, offsets, positions in self._locate(kind, lanes, size):
            if kind == "load":
                self.read.add(span.start)
            span.sectors[offsets // SECTOR] = True
            if kind != "atomic" and span.tracked and not self.conflict:
                self._track(kind, span, offsets, size, value, mask, positions)
        if kind == "store" and self.copies and value is not None:
            found = line_of_any(self.loaded, value, mask)
            self.copies = found is not None and (self.line is None or same_line(found, self.line))
            self.line = self.line or found
            if not self.copies:
                self.loaded.clear()

    def _locate(self, kind: str, lanes: np.ndarray, size: int) -> list[tuple[_Range, np.ndarray, Any]]:
        """The lanes grouped by the storage they fall in; `Fault` if some fall in none."""
        low, high = lanes.min(), lanes.max()
        first = int(np.searchsorted(self.starts, low, side="right")) - 1
        if first >= 0 and int(high) + size <= self.ranges[first].end:
            span = self.ranges[first]
            return [(span, (lanes - np.uint64(span.start)).astype(np.int64), slice(None))]
        owner = np.searchsorted(self.starts, lanes, side="right").astype(np.int64) - 1
        inside = owner >= 0
        if self.ranges:
            inside &= lanes + np.uint64(size) <= self.ends[np.maximum(owner, 0)]
        if not inside.all() and not (self.pointer_tables and self.recorder.known(lanes[~inside], size)):
            self._fault(kind, lanes, inside, size)
        groups = []
        for index in np.unique(owner[inside]):
            chosen = inside & (owner == index)
            span = self.ranges[index]
            groups.append((span, (lanes[chosen] - np.uint64(span.start)).astype(np.int64), chosen))
        return groups

    def _fault(self, kind: str, lanes: np.ndarray, inside: np.ndarray, size: int) -> None:
        count = int((~inside).sum())
        verb = {"load": "read", "store": "write", "atomic": "update"}[kind]
        line = _line_of(self.filename)
        where = f"line {line}: " if line else ""
        raise Fault(
            "bounds", f"{where}{count} of {lanes.size} lanes of kernel {self.name} {verb} outside its arguments' memory"
        )

    def _track(
        self, kind: str, span: _Range, offsets: np.ndarray, size: int, value: np.ndarray | None,
        mask: np.ndarray | None, positions: Any,
    ) -> None:  # fmt: skip
        """Note who read and wrote which element; a conflict is one program's write meeting another's access."""
        me = self.programs
        writer, reader = span.owners()
        if kind == "load":
            if span.stored:
                last = writer[offsets]
                others = (last != 0) & (last != me)
                if others.any():
                    self._conflict(f"program {me - 1} reads what program {int(last[others][0]) - 1} writes")
            seen = reader[offsets] if span.loaded else None
            if seen is not None and seen.any():  # -1: more than one program read it
                reader[offsets] = np.where((seen == 0) | (seen == me), me, -1)
            else:
                reader[offsets] = me
            span.loaded = True
            return
        if span.stored:
            last = writer[offsets]
            others = (last != 0) & (last != me)
            if others.any() and not _same_bytes(span, offsets[others], size, value, mask, positions, others):
                self._conflict(
                    f"programs {int(last[others][0]) - 1} and {me - 1} write different values to one element"
                )
        if span.loaded:
            seen = reader[offsets]
            by_others = (seen != 0) & (seen != me)
            if by_others.any() and not _same_bytes(span, offsets[by_others], size, value, mask, positions, by_others):
                self._conflict(f"program {me - 1} overwrites what another program reads")
        writer[offsets] = me
        span.stored = True

    def _conflict(self, what: str) -> None:
        line = _line_of(self.filename)
        self.conflict = f"{f'line {line}: ' if line else ''}{what} in kernel {self.name}: a race on a GPU"

    def finish(self) -> None:
        """Sum up and let go of the memory maps."""
        if self.copies and self.stores:
            self.given = bool(self.read) and all(map(self.recorder.unchanged, self.read))
        self.unique_bytes = sum(int(np.count_nonzero(r.sectors)) for r in self.ranges) * SECTOR
        self.ranges.clear()
        self.loaded.clear()

    def facts(self) -> dict[str, Any]:
        """What the judge is told."""
        return {
            "name": self.name, "programs": self.programs, "loaded": self.loaded_bytes, "stored": self.stored_bytes,
            "unique": self.unique_bytes, "flops": self.flops, "copy": self.copies and self.stores > 0,
            "line": self.line, "stores": self.stores, "conflict": "" if self.atomics else self.conflict,
            "tuning": self.tuning, "given": self.given,
        }  # fmt: skip


def _same_bytes(
    span: _Range, offsets: np.ndarray, size: int, value: np.ndarray | None, mask: np.ndarray | None, positions: Any,
    chosen: np.ndarray,
) -> bool:  # fmt: skip
    """True when the store would write what already stands there (programs storing one shared result do not race)."""
    if value is None or value.dtype.itemsize != size:
        return False
    flat = np.broadcast_to(value, mask.shape)[mask] if mask is not None else value.reshape(-1)
    if flat.size == 1 and chosen.size > 1:
        flat = np.broadcast_to(flat, chosen.shape)
    new = np.ascontiguousarray(flat[positions][chosen])
    raw: Any = (ctypes.c_char * (span.end - span.start)).from_address(span.start)
    memory = np.frombuffer(raw, dtype=np.uint8)
    old = memory[offsets[:, None] + np.arange(size)]
    return bool((old.reshape(-1) == new.view(np.uint8).reshape(-1)).all())


def _line_of(filename: str) -> int | None:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == filename:
            return frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


class Recorder:
    """All launches of one child, and whether stores are to be corrupted now."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.launches: list[Launch] = []
        self.current: Launch | None = None
        self.corrupt = False
        self.storages: dict[int, int] = {}
        self.given: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # by address: what the judge gave, and a copy

    def unchanged(self, address: int) -> bool:
        """True for memory that the judge gave and nobody has written to since."""
        return address in self.given and same_bits(*self.given[address])

    def begin(self, launch: Launch) -> None:
        """A kernel starts."""
        self.current = launch
        self.launches.append(launch)

    def end(self) -> None:
        """It has ended, well or badly; only its counts are kept."""
        if self.current is not None:
            self.current.finish()
        self.current = None

    def known(self, lanes: np.ndarray, size: int) -> bool:
        """True when all lanes fall in storages seen by the library (kernels that take tables of pointers)."""
        spans = [(s, s + n) for s, n in self.storages.items()]
        return all(any(s <= int(p) and int(p) + size <= e for s, e in spans) for p in np.unique(lanes)[:4096])
