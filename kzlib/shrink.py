"""Make a task small enough for a CPU: one map of values for the whole text, so equal sizes stay equal.

Only module-level numbers and literals of the input functions change; every value is halved until it is at most a cap,
values that are only an input's first size further. Caps are tried upward, and at each an odd size first, so that
kernels without masks are caught. Never time on shrunk shapes. Source: issue 5, item 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kzlib.records import Task, content_id
from kzlib.sizes import Number, numbers_of, rewritten
from kzlib.verifier import wire
from kzlib.verifier.pool import ForkServer, ServerConfig

CAPS = (32, 64, 128, 256)
LEADING_CAP = 8
TINY = 3
GIVE_UP_SOUND = 64  # what runs up to this cap and is not sound will hardly be sound above it
SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A task at its small size. `runs`: a size ran in time; `sound`: finite, steady, not constant, ranks as before;
    `odd`: some size is odd that was even; `cap`: the largest value allowed; `message`: what is not sound."""

    task: Task
    runs: bool
    sound: bool
    odd: bool
    cap: int
    message: str = ""


def shrink(task: Task) -> Task:
    """The task at the smallest size that runs soundly (`shrink_with`); one that runs at no size is a `ValueError`."""
    server = trial_server()
    try:
        found = shrink_with(task, server)
    finally:
        server.close()
    if not found.runs:
        raise ValueError(f"{task.origin or task.id} runs at no small size ({found.message}): leave it out")
    return found.task


def trial_server() -> ForkServer:
    """A warm server whose children try sizes; close it after use."""
    return ForkServer(ServerConfig(preload=("kzlib.shrink_child",)))


def shrink_with(task: Task, server: ForkServer, seconds: float = SECONDS) -> Shrunk:
    """Try sizes upward; take the first that is sound, else the first that ran, else the task as it is."""
    ranks = _trial(server, task.source, "meta", seconds)["ranks"]
    first_run: Shrunk | None = None
    message = "no size was tried"
    slow_cap = 0
    for plan in plans(task.source):
        if slow_cap and (plan.cap > slow_cap or not plan.tiny):
            continue
        if first_run and plan.cap > GIVE_UP_SOUND:
            break
        reply = _trial(server, plan.source, "cpu", seconds)
        message = reply["message"]
        if message == _SLOW:
            if plan.tiny:
                break
            slow_cap = plan.cap
        if not reply["runs"]:
            continue
        same = not ranks or ranks == reply["ranks"]
        small = replace(task, source=plan.source, id=content_id("task", plan.source), origin=f"{task.origin}@shrunk")
        if reply["sound"] and same:
            return Shrunk(small, True, True, plan.odd, plan.cap)
        first_run = first_run or Shrunk(small, True, False, plan.odd, plan.cap, message or "an output has another rank")
    return first_run or Shrunk(task, False, False, False, 0, message)


_SLOW = "it ran out of time"


@dataclass(frozen=True, slots=True)
class Plan:
    """One size to try. `odd`: some size is odd. `tiny`: inputs' first sizes are cut though other sizes equal them."""

    cap: int
    odd: bool
    tiny: bool
    source: str


def plans(source: str) -> Iterator[Plan]:
    """Plans in the order to try; texts that repeat are left out.

    >>> next(plans("N = 4096\\ndef get_inputs(): return [torch.rand(128, N)]"))
    Plan(cap=32, odd=True, tiny=False, source='N = 31\\ndef get_inputs(): return [torch.rand(7, N)]')
    """
    numbers = numbers_of(source)
    leading = {n.value for n in numbers if n.leading} - {n.value for n in numbers if not n.leading}
    trailing = sorted({n.value for n in numbers if n.trailing} - leading, reverse=True)
    seen: set[str] = set()
    for cap in CAPS:
        smalls = dict.fromkeys([frozenset(leading), frozenset[int]()])
        choices: list[tuple[frozenset[int], int | None, bool]]
        choices = [(small, odd, False) for small in smalls for odd in trailing]
        choices += [(frozenset(leading), None, False)] if leading else []
        choices += [(frozenset(), odd, True) for odd in [*trailing, None]]
        choices += [(frozenset(), None, False)]
        for small, odd, tiny in choices:
            values = [_smaller(n, cap, small, odd, tiny) for n in numbers]
            text = rewritten(source, numbers, values)
            if text not in seen:
                seen.add(text)
                yield Plan(cap, _is_odd(numbers, values), tiny, text)


def _is_odd(numbers: list[Number], values: list[int]) -> bool:
    """Some number became odd, or an input's last size is odd."""
    return any(v > 1 and v % 2 and (n.trailing or n.value % 2 == 0) for n, v in zip(numbers, values, strict=True))


def _smaller(number: Number, cap: int, small: frozenset[int], odd: int | None, tiny: bool) -> int:
    """A value halved until it fits; one less where it must be odd, and for first sizes that stand alone."""
    if tiny and number.leading:
        return min(number.value, TINY)
    first = number.value in small
    limit = LEADING_CAP if first else cap
    value = number.value
    while value > limit:
        value //= 2
    if (first or number.value == odd) and value > 2 and value % 2 == 0:
        value -= 1
    return value


def _trial(server: ForkServer, source: str, device: str, seconds: float) -> dict[str, Any]:
    """What one child says of one text; a child that says nothing in time has failed."""
    failed: dict[str, Any] = {"runs": False, "sound": False, "ranks": [], "message": ""}
    with server.fork("kzlib.shrink_child:main") as child:
        try:
            child.send({"source": source, "device": device})
            reply = child.receive(seconds, limit=1 << 20)
        except wire.Deadline:
            return {**failed, "message": _SLOW}
        except (wire.Closed, wire.WireError):
            return {**failed, "message": "its process ended"}
    return (
        {name: reply[name] for name in failed} if isinstance(reply, dict) and failed.keys() <= reply.keys() else failed
    )
