"""References on a GPU: a live process a task gives its sets when they are needed and is the baseline of timed pairs.

Small sets stay with the judge; of a large task one set is resident at a time. Source: issue 4, items 3 and 4.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from kzlib.records import Task
from kzlib.verifier import replies, wire
from kzlib.verifier.children import copy_tree
from kzlib.verifier.gpu_memory import CudaError
from kzlib.verifier.gpu_plan import RESIDENT, Need
from kzlib.verifier.gpu_stock import Stock
from kzlib.verifier.gpu_wire import Lender
from kzlib.verifier.pool import ForkServer, ServerDied
from kzlib.verifier.protocols import Protocol
from kzlib.verifier.reference import PLAIN
from kzlib.verifier.references import Broken, InputSet, Reference, References, _size

LIVE_BASELINES = 12  # reference processes kept for timing, each with a context of its own
KEEP_BYTES = 12 << 30
HOST_BYTES = 3 << 20  # of answers of one set; more are compared faster where they are
_FIELDS = ("init", "init_seed", "noise_seed", "state", "training", "ops", "seconds")


class OutOfRoom(ServerDied):
    """The device's memory did not suffice while others used it too."""


class Crashed(ServerDied):
    """What was asked of a reference's process ended it; the next question starts another."""


class Baseline:
    """A reference's process. It may be ended to make room and is started again when it is asked."""

    def __init__(self, start: Callable[[], Lender], retire: Callable[[Lender], None], lender: Lender) -> None:
        self._start, self._retire = start, retire
        self._lender: Lender | None = lender
        self.lock = threading.RLock()
        self.touched: Callable[[Baseline], None] = lambda _: None

    @contextmanager
    def live(self) -> Iterator[Lender]:
        """The process, for one user at a time."""
        with self.lock:
            if self._lender is None:
                self._lender = self._start()
            self.touched(self)
            try:
                yield self._lender
            except (ServerDied, CudaError, torch.OutOfMemoryError):  # it may be waiting for memory that never came
                self._end()
                raise

    def end_process(self) -> bool:
        """Free the process's context, unless it is at work."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self._end()
            return True
        finally:
            self.lock.release()

    def _end(self) -> None:
        lender, self._lender = self._lender, None
        if lender is not None:
            self._retire(lender)


class Sets(Sequence[InputSet]):
    """Input sets by number, asked of the reference's process when they are not resident."""

    def __init__(self, baseline: Baseline, kinds: list[str], need: Need, seconds: float) -> None:
        self.baseline, self.kinds, self.need, self.seconds = baseline, kinds, need, seconds
        self._checks = 0  # checks under way
        self._rows: OrderedDict[int, InputSet] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self.kinds):
            raise IndexError(index)
        with self._lock:
            if index in self._rows:
                self._rows.move_to_end(index)
                return self._rows[index]
            while len(self._rows) >= self.room:
                self._rows.popitem(last=False)
            row = self._rows[index] = InputSet(**self._made(index))
            return row

    def _made(self, index: int) -> dict[str, Any]:
        try:
            return self._fetch({"set": index, "kinds": self.kinds})
        except Crashed:
            if self.kinds[index] == PLAIN:
                raise
        self.kinds[index] = PLAIN  # inputs that fail an assertion on the device end the process: no probe of this task
        return self._fetch({"set": index, "kinds": self.kinds})

    def again(self) -> Any:
        """The native answer to the first set once more, from another run."""
        return self._fetch({"again": True})["native"]

    def other(self) -> InputSet | None:
        """The set at another shape. Asked for after every other set, whose buffers it follows."""
        try:
            row = self._fetch({"other": True})["row"]
        except Crashed:
            return None
        return InputSet(**row) if row else None

    @contextmanager
    def room_for_two(self) -> Iterator[None]:
        """While a task is checked, before a candidate needs the memory, two sets may stay."""
        with self._lock:
            self._checks += 1
        try:
            yield
        finally:
            with self._lock:
                self._checks -= 1
                while len(self._rows) > self.room:
                    self._rows.popitem()
            self._give_back()

    @property
    def room(self) -> int:
        """Sets that may be resident."""
        return max(1 + (self._checks > 0), RESIDENT // max(1, self.need.row))

    def clear(self) -> None:
        """Nothing stays resident."""
        with self._lock:
            self._rows.clear()
        self._give_back()

    def _give_back(self) -> None:
        """What the judge's allocator keeps of a large task, the processes of both sides could not have."""
        if self.need.large:
            torch.cuda.empty_cache()

    @property
    def held(self) -> int:
        """Bytes resident now."""
        return sum(row.size for row in list(self._rows.values()))

    def _fetch(self, request: dict[str, Any]) -> dict[str, Any]:
        limit = 8 * (self.need.inputs + self.need.outputs + self.need.weights) + (64 << 20)
        with self.baseline.live() as lender:
            try:
                lender.send(request)
                form = next(name for name in request if name in ("set", "again", "other"))
                answer = replies.checked(lender.receive(self.seconds, limit), set=form, failed="broken")
            except wire.Closed:
                raise Crashed("the reference's process ended") from None
            except (wire.WireError, wire.Deadline) as error:
                raise ServerDied(f"the reference's process does not answer ({type(error).__name__})") from None
            if answer.get("event") != "set":
                lost = OutOfRoom if answer.get("memory") else Crashed
                raise lost(f"the reference ran once and not again ({answer.get('message')})")
            kept = {name: copy_tree(value) for name, value in answer.items() if name != "event"}
            _on_the_host(kept)
            torch.cuda.synchronize()
            del answer
            if not lender.small:
                lender.drop()
            return kept


def _on_the_host(values: dict[str, Any]) -> None:
    """Bring what small answers are compared with to the host: each question asked of a device that others use waits
    for its turn there."""
    row = values.get("row") or values
    answers = {name: row.get(name) for name in ("native", "exact", "bent", "mutated", "buffers")}
    if _size(list(answers.values())) <= HOST_BYTES:
        row.update({name: _to_host(value) for name, value in answers.items() if name in row})


def _to_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.cpu()
    if isinstance(value, list | tuple):
        return type(value)([_to_host(v) for v in value])
    if isinstance(value, dict):
        return {k: _to_host(v) for k, v in value.items()}
    return value


class GpuReferences(References):
    """References whose processes stay alive to give their sets and to be timed."""

    def __init__(self, device: int, tf32: bool, stock: Stock, seconds: float = 120.0) -> None:
        super().__init__(seconds=seconds, output_limit=96 << 30)
        self.device = device
        self.tf32 = tf32
        self.stock = stock
        self._live: OrderedDict[int, Baseline] = OrderedDict()

    def request(self, task: Task, seed: int, protocol: Protocol, shake_state: bool) -> dict[str, Any]:
        return {**super().request(task, seed, protocol, shake_state), "role": "reference"}

    def _run(
        self, server: ForkServer, task: Task, seed: int, protocol: Protocol, shake_state: bool
    ) -> Reference | Broken:
        request = self.request(task, seed, protocol, shake_state)
        lender, answer = self._begin(request)
        if isinstance(answer, Broken):
            return answer
        if answer.get("event") != "reference":
            self.stock.retire(lender)
            if answer.get("memory"):
                raise OutOfRoom(f"the reference ran out of device memory ({answer.get('message', '')[:120]})")
            return self._read(answer)

        def start() -> Lender:
            other, told = self._begin(request)
            if isinstance(told, Broken) or told.get("event") != "reference":
                raise ServerDied("the reference started once and not again")
            return other

        baseline = Baseline(start, self.stock.retire, lender)
        baseline.touched = self._touch
        self._touch(baseline)
        head = {name: copy_tree(answer[name]) for name in _FIELDS}
        sets = Sets(baseline, list(answer["kinds"]), Need.read(answer["need"]), self.seconds)
        if not lender.small:
            lender.drop()
        other = sets.other if protocol.other_shape and not sets.need.large else None
        extra = {"baseline": baseline, "need": sets.need, "other": other}
        return Reference(sets=sets, again=sets.again, extra=extra, **head)  # type: ignore[arg-type]

    def _begin(self, request: dict[str, Any]) -> tuple[Lender, dict[str, Any] | Broken]:
        """A child that has answered the request; or why there is none."""
        result = Broken("runs", "the reference's process was killed")
        for _ in range(3):
            lender = self.stock.take()
            try:
                lender.send(request)
                answer = lender.receive(self.seconds, self.output_limit)
                return lender, replies.checked(answer, reference="head", failed="broken")
            except wire.Deadline:
                result = Broken("budget", f"the reference needs more than {self.seconds:.0f} s")
            except wire.Closed:
                end = lender.wait()
                result = Broken("runs", f"the reference's process ended ({end.signal or f'exit code {end.code}'})")
                if end.signal == "SIGKILL":
                    self.stock.retire(lender)
                    continue  # the machine's memory, perhaps
            except wire.WireError as error:
                result = Broken("runs", f"the reference's values cannot be passed on: {error}")
            self.stock.retire(lender)
            return lender, result
        return lender, result

    def _touch(self, baseline: Baseline) -> None:
        """Note a use; end the processes that were used longest ago, beyond those that may live."""
        with self._lock:
            self._live[id(baseline)] = baseline
            self._live.move_to_end(id(baseline))
            spare = max(0, len(self._live) - LIVE_BASELINES)
            old = [b for b in list(self._live.values())[:spare] if b is not baseline]
        for other in old:
            if other.end_process():
                with self._lock:
                    self._live.pop(id(other), None)

    def make_room(self, task_id: str) -> None:
        """Forget every other task's results and end their processes: a large task needs the device."""
        with self._lock:
            mine = {key: kept for key, kept in self._kept.items() if key[0] == task_id}
            stay = {id(r.extra["baseline"]) for r, _ in mine.values() if isinstance(r, Reference)}
            self._kept = OrderedDict(mine)
            others = [b for key, b in self._live.items() if key not in stay]
        for baseline in others:
            if baseline.end_process():
                with self._lock:
                    self._live.pop(id(baseline), None)
        del others
        gc.collect()
        torch.cuda.empty_cache()

    def clear_rows(self, reference: Reference) -> None:
        """Nothing of a large task stays with the judge between judgements."""
        if isinstance(reference.sets, Sets) and reference.sets.need.large:
            reference.sets.clear()

    def _keep(self, key: tuple[Any, ...], result: Reference | Broken) -> None:
        with self._lock:
            self._busy.pop(key, None)
            self._kept[key] = (result, 0)
            sizes = {
                k: r.sets.held
                for k, (r, _) in self._kept.items()
                if isinstance(r, Reference) and isinstance(r.sets, Sets)
            }
            total = sum(sizes.values())
            gone = []
            while len(self._kept) > 256 or (total > KEEP_BYTES and len(self._kept) > 1):
                old, (what, _) = self._kept.popitem(last=False)
                total -= sizes.get(old, 0)
                gone += [what.extra["baseline"]] if isinstance(what, Reference) else []
        for baseline in gone:
            if baseline.end_process():
                with self._lock:
                    self._live.pop(id(baseline), None)

    def close(self) -> None:
        """End every reference's process."""
        with self._lock:
            live, self._live = list(self._live.values()), OrderedDict()
            self._kept.clear()
        for baseline in live:
            baseline.end_process()
