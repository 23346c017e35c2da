"""Who may use the GPU now: correctness calls together, a timed region alone, large judgements when there is memory.

Source: issue 4, item 3.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turnstile:
    """Many may run correctness calls at once; a timed region runs alone. A waiting timed region goes first."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._running = 0
        self._waiting = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: not self._alone and not self._waiting)
            self._running += 1
        try:
            yield
        finally:
            with self._condition:
                self._running -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._condition:
            self._waiting += 1
            self._condition.wait_for(lambda: not self._alone and not self._running)
            self._waiting -= 1
            self._alone = True
        try:
            yield
        finally:
            with self._condition:
                self._alone = False
                self._condition.notify_all()


class Memory:
    """Device memory handed out to judgements before they begin, so that large ones wait instead of failing.

    First come, first served: whoever asks first is served first, so a large one is not overtaken for ever.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._condition = threading.Condition()
        self._used = 0
        self._queue: deque[object] = deque()

    @property
    def used(self) -> int:
        """Bytes handed out now."""
        return self._used

    def take(self, size: int) -> int:
        """Wait for one's turn and for `size` bytes; what was taken (all there is, for more than that) is to be given
        back."""
        size, ticket = min(size, self.total), object()
        with self._condition:
            self._queue.append(ticket)
            try:
                self._condition.wait_for(lambda: self._queue[0] is ticket and self._used + size <= self.total)
                self._used += size
            finally:
                self._queue.remove(ticket)
                self._condition.notify_all()
        return size

    def give(self, size: int) -> None:
        """Give back what `take` returned."""
        with self._condition:
            self._used -= size
            self._condition.notify_all()

    @contextmanager
    def reserve(self, size: int) -> Iterator[int]:
        """Hold `size` bytes, more than there are counting as all of them."""
        taken = self.take(size)
        try:
            yield taken
        finally:
            self.give(taken)
