"""One kernel to print: what it computes, over which index variables, under which schedule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kzlib.teacher.expr import TRUE, Buffer, Expr, load, value_of


@dataclass(frozen=True, slots=True)
class Space:
    """Index variables by role, and where an element of the output lies in terms of them.

    Roles: `outer` (one program each), `row` (the vector within a program), `batch`, `m`, `n` (a tiled product).
    """

    outer: tuple[Expr, ...] = ()
    row: tuple[Expr, ...] = ()
    batch: tuple[Expr, ...] = ()
    m: tuple[Expr, ...] = ()
    n: tuple[Expr, ...] = ()
    across: bool = False  # a tiled product whose n is the long side: its tiles come first in the grid
    coords: tuple[Expr, ...] = ()  # index of the output tensor
    store_shape: tuple[Expr, ...] = ()  # finer shape of the same memory, when a channel is (group, channel in group)
    store_index: tuple[Expr, ...] = ()
    guard: Expr = TRUE  # where `coords` lie inside the output


@dataclass(frozen=True, slots=True)
class Kernel:
    """`kind`: map (a thread an element), reduce, row, scan (a program a row), lanes (a lane a row), dot (a tile of a
    product)."""

    name: str
    kind: str
    out: Buffer
    space: Space
    body: Expr
    schedule: dict[str, Any] = field(default_factory=dict)
    state: tuple[tuple[Expr, Expr], ...] = ()  # one per row: (where, value), the module's own running statistics

    def store(self) -> Expr:
        """The output element as a load expression, so that its offset is printed like any other."""
        if self.space.store_shape:
            fine = Buffer(self.out.text, self.space.store_shape, self.out.dtype, self.out.hint)
            return load(fine, self.space.store_index, self.space.guard)
        return load(self.out, self.space.coords, self.space.guard)

    def row_length(self) -> int:
        out = 1
        for v in self.row_variables():
            out *= value_of(v.attr[1])
        return out

    def row_variables(self) -> tuple[Expr, ...]:
        if self.space.row:
            return self.space.row
        for e in _reductions(self.body):
            return tuple(e.attr[1:])
        return ()


def _reductions(body: Expr) -> list[Expr]:
    from kzlib.teacher.expr import walk

    return [e for e in walk(body) if e.op == "reduce"]


@dataclass(frozen=True, slots=True)
class Printed:
    """A kernel's text and how the host launches it: `launch` lines in Python, arguments already filled in."""

    name: str
    text: str
    launch: str
    helpers: tuple[str, ...] = ()
    principles: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()  # host lines before the launch
    launcher: Any = None  # CUDA: the C++ function that launches it
