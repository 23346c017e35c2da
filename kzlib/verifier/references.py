"""Reference results in the judge: run once per task, seed and variant in a child, kept as bytes, shared by candidates.

Source: issue 4, item 3 (cache); issue 3, item 2.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from kzlib.records import Task
from kzlib.verifier import replies, wire
from kzlib.verifier.compare import Yard
from kzlib.verifier.pool import ForkServer, ServerDied
from kzlib.verifier.protocols import Protocol

KEEP_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class InputSet:
    """One set of hidden inputs and what the reference makes of it. `mutated`: the inputs after, if changed."""

    kind: str
    inputs: list[Any]
    native: Any
    exact: Any
    buffers: dict[str, torch.Tensor]
    mutated: list[Any] | None
    bent: Any = None  # the exact answer for inputs one epsilon away: the problem's own sensitivity
    yards: dict[str, Yard] = field(default_factory=dict, compare=False)  # what `compare` worked out from these

    @property
    def size(self) -> int:
        """Bytes of its tensors, yards (as large as the exact answer) included."""
        tensors = [self.inputs, self.native, self.exact, self.bent, self.buffers, self.mutated]
        return _size([*tensors, self.exact])


@dataclass(frozen=True, slots=True)
class Reference:
    """A task under one seed; `init` are the constructor's arguments and `ops` the library operators of one call."""

    init: list[Any]
    init_seed: int
    noise_seed: int
    state: dict[str, torch.Tensor]
    sets: Sequence[InputSet]
    training: bool
    ops: list[dict[str, Any]]
    again: Any  # the native answer to the first set once more, or a function that gives it
    seconds: dict[str, float]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of its tensors: weights may outweigh every input."""
        other = self.extra.get("other")
        sets = [*self.sets, *([other] if isinstance(other, InputSet) else [])]
        return _size([self.init, self.state, self.again]) + sum(s.size for s in sets)


def other_shape(reference: Reference) -> InputSet | None:
    """The set at another shape, made when it is asked for; None where the reference runs at no other."""
    other = reference.extra.get("other")
    return other() if callable(other) else other


@dataclass(frozen=True, slots=True)
class Broken:
    """Why a task cannot serve as a reference. `gate` is one of `check.GATES`."""

    gate: str
    message: str
    seconds: dict[str, float] = field(default_factory=dict)


class References:
    """Runs and keeps references. Thread-safe; two threads asking for the same one run it once."""

    entry = "kzlib.verifier.reference:main"

    def __init__(self, seconds: float = 30.0, output_limit: int = 2 << 30) -> None:
        self.seconds = seconds
        self.output_limit = output_limit
        self._lock = threading.Lock()
        self._busy: dict[tuple[Any, ...], threading.Lock] = {}
        self._kept: OrderedDict[tuple[Any, ...], tuple[Reference | Broken, int]] = OrderedDict()

    def get(
        self, server: ForkServer, task: Task, seed: int, protocol: Protocol, shake_state: bool
    ) -> Reference | Broken:
        """The reference of `task` under `seed`; `ServerDied` if our own machinery failed."""
        key = (task.id, task.source, seed, protocol.name, shake_state)
        with self._lock:
            gate = self._busy.setdefault(key, threading.Lock())
        with gate:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key][0]
            result = self._run(server, task, seed, protocol, shake_state)
            self._keep(key, result)
        return result

    def _keep(self, key: tuple[Any, ...], result: Reference | Broken) -> None:
        size = 0 if isinstance(result, Broken) else result.size
        with self._lock:
            self._busy.pop(key, None)
            self._kept[key] = (result, size)
            total = sum(s for _, s in self._kept.values())
            while len(self._kept) > 512 or (total > KEEP_BYTES and len(self._kept) > 1):
                total -= self._kept.popitem(last=False)[1][1]

    def request(self, task: Task, seed: int, protocol: Protocol, shake_state: bool) -> dict[str, Any]:
        """What a reference child is asked."""
        return {
            "source": task.source, "seed": seed, "sets": protocol.sets, "plain": protocol.plain_sets,
            "probes": protocol.probes, "shake": protocol.shake, "shake_state": shake_state and protocol.shake,
            "float64": protocol.float64, "repeat": protocol.checks_task, "fixed_seed": protocol.fixed_seed,
            "other_shape": protocol.other_shape,
        }  # fmt: skip

    def _run(
        self, server: ForkServer, task: Task, seed: int, protocol: Protocol, shake_state: bool
    ) -> Reference | Broken:
        for attempt in range(3):
            with server.fork(self.entry) as child:
                try:
                    child.send(self.request(task, seed, protocol, shake_state))
                    answer = replies.checked(
                        child.receive(self.seconds, self.output_limit), "reference", failed="broken"
                    )
                except wire.Deadline:
                    return Broken("budget", f"the reference needs more than {self.seconds:.0f} s")
                except wire.Closed:
                    end = child.wait()
                    if end.signal == "SIGKILL" and attempt < 2:
                        continue  # the machine's memory, perhaps
                    return Broken("runs", f"the reference's process ended ({end.signal or f'exit code {end.code}'})")
                except wire.WireError as error:
                    return Broken("runs", f"the reference's values cannot be passed on: {error}")
            return self._read(answer)
        raise ServerDied("the reference's process was killed three times")

    def _read(self, answer: dict[str, Any]) -> Reference | Broken:
        if answer.get("event") != "reference":
            gate = "loads" if answer.get("stage") in ("load", "init") else "runs"
            line = f" ({answer['lines'][-1]})" if answer.get("lines") else ""
            return Broken(gate, f"{answer.get('kind')}: {answer.get('message')}{line}")
        fields = {
            name: answer[name]
            for name in ("init", "init_seed", "noise_seed", "state", "training", "ops", "again", "seconds")
        }
        sets = tuple(InputSet(**row) for row in answer["sets"])
        other = answer.get("other")
        return Reference(sets=sets, extra={"other": InputSet(**other) if other else None}, **fields)


def _size(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        value = list(value.values())
    return sum(_size(v) for v in value) if isinstance(value, list | tuple) else 0
