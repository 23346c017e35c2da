"""Where the execution of a notebook stands, for reports and interrupts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Position:
    """The cell at work, or the last one that was."""

    cell: int | None = None
    source: str = ""
    cells_started: int = 0
    kernel_pid: int | None = None
