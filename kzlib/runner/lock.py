"""One runner per run folder. The system drops the lock when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class RunIsBusyError(RuntimeError):
    """Another runner holds the run folder; the sentence says which process, since when, and what to type."""


@contextlib.contextmanager
def run_lock(folder: Path) -> Iterator[None]:
    """Hold the run folder for the body's time, or raise RunIsBusyError at once."""
    path = folder / ".lock"
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.ENOLCK, errno.EOPNOTSUPP):
                raise
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise _busy(folder, _read(path)) from None
        holder = _read(path)  # some network disks grant flock to everyone: then the process id decides
        if holder and holder["pid"] != os.getpid() and start_time(holder["pid"]) == holder["started"]:
            raise _busy(folder, holder)
        now = datetime.datetime.now().isoformat(timespec="seconds")
        mine = {"pid": os.getpid(), "started": start_time(os.getpid()), "since": now}
        _write(file, json.dumps(mine))
        try:
            yield
        finally:
            _write(file, "")


def holder_of(folder: Path) -> dict[str, Any] | None:
    """{"pid", "started", "since"} of the runner that is at work in a folder now, or None."""
    holder = _read(folder / ".lock")
    if holder and start_time(holder["pid"]) == holder["started"]:
        return holder
    return None


def start_time(pid: int) -> str:
    """When a process started, in clock ticks since boot; "" if there is none. Tells a reused process id apart."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _busy(folder: Path, holder: dict[str, Any] | None) -> RunIsBusyError:
    who = f"process {holder['pid']} since {holder['since']}" if holder else "another runner"
    return RunIsBusyError(
        f"{folder.parent.name}/{folder.name} is in use by {who}: wait for it, stop it, or start another with --run new"
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8")) or None
    except (OSError, json.JSONDecodeError):
        return None


def _write(file: Any, text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()
