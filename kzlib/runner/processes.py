"""Processes of a notebook: who descends from whom, who carries a run's mark, and how all of them are ended."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Children whose parent dies come to this process, so that they can still be found and ended (Linux)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(sign: int, parent: int) -> None:
    """Ask for a signal when the parent ends; `parent` is its process id, for the case that it has ended already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, sign, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), sign)


def descendants(pid: int) -> list[int]:
    """Process ids of all children, their children and so on."""
    children: dict[int, list[int]] = {}
    for entry in _processes():
        try:
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    todo = [pid]
    while todo:
        nexts = children.get(todo.pop(), [])
        found.extend(nexts)
        todo.extend(nexts)
    return found


def marked(variable: str, value: str) -> list[int]:
    """Process ids (not our own) that were started with an environment variable of this value."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in _processes():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environment and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def end(pids: Iterable[int], grace: float = 2.0) -> int:
    """Terminate processes, then kill what is left after `grace` seconds; returns how many were alive."""
    alive = [pid for pid in pids if send(pid, signal.SIGTERM)]
    deadline = time.monotonic() + grace
    left = alive
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [pid for pid in left if _runs(pid)]
    for pid in left:
        send(pid, signal.SIGKILL)
    return len(alive)


def send(pid: int, sign: int) -> bool:
    """Signal a process; False if it is gone or not ours."""
    try:
        os.kill(pid, sign)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _processes() -> list[Path]:
    return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
