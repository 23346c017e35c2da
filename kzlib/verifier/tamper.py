"""Which functions the evidence rests on are still the ones they were before generated code ran; which threads it left.

Source: issue 3; verifiers.md A12, A13, B2, D12.
"""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

Row = tuple[str, Any, str, Any]
# What torch._dynamo itself replaces, when it is imported or first compiles; nothing rests on these.
_DYNAMO = frozenset({"manual_seed", "__init__", "__setstate__"})


def shared_owners() -> dict[str, Any]:
    """What every child watches, whatever its device: owners of functions by the name a reader knows them by."""
    return {
        "torch": torch, "torch.Tensor": torch.Tensor, "torch.nn.functional": torch.nn.functional,
        "torch.nn.Module": torch.nn.Module, "torch.cuda": torch.cuda, "torch.cuda.Event": torch.cuda.Event,
        "time": time, "builtins": builtins,
    }  # fmt: skip


def noted(owners: Mapping[str, Any]) -> list[Row]:
    """(owner's name, owner, attribute, value) of every function of the owners.

    >>> class Clock:
    ...     def read(self): ...
    >>> rows = noted({"clock": Clock})
    >>> Clock.read = lambda self: 0
    >>> changed(rows)
    ['clock.read']
    """
    rows: list[Row] = []
    for label, owner in owners.items():
        for name, value in list(vars(owner).items()):
            if name in _DYNAMO and label in ("torch", "torch.nn.Module", "torch.cuda"):
                continue
            if callable(value) or isinstance(value, property | staticmethod | classmethod | ModuleType):
                rows.append((label, owner, name, value))
    return rows


def changed(rows: Iterable[Row]) -> list[str]:
    """Names of functions that are no longer what they were when they were noted."""
    missing = object()
    return sorted(
        f"{label}.{name}" for label, owner, name, value in rows if vars(owner).get(name, missing) is not value
    )


class Threads:
    """Counts threads begun since it was made, those of a driver left out: they bear names of their own, while a thread
    of generated code bears the process's."""

    def __init__(self) -> None:
        self._task = Path("/proc/self/task")
        self._known, self._before = threading.active_count, threading.active_count()
        self._native = self._alike()
        self._sleep = time.sleep

    def extra(self) -> int:
        """Threads more than there were; one that has just been joined is given a moment to go."""
        more = 0
        for _ in range(5):
            more = max(0, self._known() - self._before, self._alike() - self._native)
            if not more:
                break
            self._sleep(0.01)
        return more

    def _alike(self) -> int:
        names = []
        for task in self._task.iterdir():
            try:
                names.append((task / "comm").read_text())
            except OSError:
                continue  # it has just ended
        own = Path("/proc/self/comm").read_text()
        return names.count(own)
