"""Children with a fresh CUDA context each, made ahead of need: a judgement takes one that waits, and another is made.

Each serves one job and ends. What a fresh context costs (0.1-0.5 s) is then off a judgement's path. Source: issue 4,
item 3.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

from kzlib.verifier.gpu_memory import PATTERN, Block
from kzlib.verifier.gpu_plan import ARENA
from kzlib.verifier.gpu_wire import Lender, send_descriptor
from kzlib.verifier.pool import Child, ForkServer, ServerDied

MAKERS = 6  # contexts made at once: more do not come faster
PATIENCE = 60.0  # seconds a context may take
IDLE = 20.0  # seconds after which unused contexts are given back


class Stock:
    """Warm children, up to `size` waiting; and the arenas that are lent to them, used again after them."""

    entry = "kzlib.verifier.gpu_child:warm_main"

    def __init__(self, server: Callable[[], ForkServer], device: int, tf32: bool, size: int) -> None:
        self.server, self.device, self.tf32, self.size = server, device, tf32, size
        self.made = 0
        self._ready: deque[Lender | Exception] = deque()
        self._making = 0
        self._waiting = 0
        self._expected = 0
        self._used = 0.0
        self._closed = False
        self._arenas: list[Block] = []
        self._condition = threading.Condition()
        self._makers = ThreadPoolExecutor(MAKERS, thread_name_prefix="kz-context")
        self._enders = ThreadPoolExecutor(MAKERS, thread_name_prefix="kz-end")
        self._idle: threading.Timer | None = None

    def expect(self, count: int) -> None:
        """So many more judgements are to come (or, negative, have begun): contexts are made ahead for these."""
        with self._condition:
            self._used = time.monotonic()
            self._expected = max(0, self._expected + count)
            self._top_up()

    def take(self) -> Lender:
        """A child with a context of its own; `ServerDied` when none can be made."""
        while True:
            with self._condition:
                self._used = time.monotonic()
                self._waiting += 1
                try:
                    self._top_up()
                    if not self._condition.wait_for(lambda: self._ready or self._closed, 2 * PATIENCE):
                        raise ServerDied("no GPU context came in time")
                    if self._closed:
                        raise ServerDied("the verifier is closed")
                    found = self._ready.popleft()
                finally:
                    self._waiting -= 1
                self._top_up()
            if isinstance(found, Exception):
                raise ServerDied(f"no GPU context could be made ({found})")
            if found.alive:
                return found
            self.retire(found)

    def _top_up(self) -> None:
        wanted = min(self.size, self._waiting + self._expected)
        while not self._closed and len(self._ready) + self._making < max(wanted, min(1, self._waiting)):
            self._making += 1
            self._makers.submit(self._make)

    def _make(self) -> None:
        made: Lender | Exception
        try:
            made = self._warm()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for this child
            made = error
        with self._condition:
            self._making -= 1
            self.made += 1
            if not isinstance(made, Exception) or self._waiting:
                self._ready.append(made)
                self._condition.notify()
            late = self._closed
        if late:
            self.drain()

    def _warm(self) -> Lender:
        child = self.server().fork(self.entry)
        arena: Block | None = None
        try:
            arena = self._arena()
            arena.bytes().fill_(PATTERN)  # what the last child read and answered is none of this one's business
            torch.cuda.synchronize(self.device)
            child.send({"tf32": self.tf32, "arena": arena.size})
            send_descriptor(child.channel, arena)
            answer = child.receive(PATIENCE, 1 << 16)
            if answer.get("event") != "warm":
                raise ServerDied(str(answer.get("message"))[:200])
            return Lender(child, self.device, arena)
        except BaseException:
            self._end(child, arena)
            raise

    def _arena(self) -> Block:
        with self._condition:
            if self._arenas:
                return self._arenas.pop()
        return Block.make(self.device, ARENA)

    def retire(self, lender: Lender) -> None:
        """End a child. What was lent to it beyond the arena is free when this returns; a small one ends in its time."""
        lender.kill()
        if lender.small and not self._closed:
            self._enders.submit(self._end, lender.child, lender.arena)
            return
        lender.end()
        lender.close()
        self._end(lender.child, lender.arena)

    def _end(self, child: Child, arena: Block | None) -> None:
        child.end()
        if arena is not None and child.ended:  # nobody else has it open now
            with self._condition:
                self._arenas.append(arena)

    def rest(self) -> None:
        """Called when nothing is judged: contexts that stay unused for a while are given back."""
        with self._condition:
            if self._closed:
                return
            if self._idle is not None:
                self._idle.cancel()
            self._idle = threading.Timer(IDLE, self._rested)
            self._idle.daemon = True
            self._idle.start()

    def _rested(self) -> None:
        if time.monotonic() - self._used >= IDLE:
            self.drain()

    def drain(self) -> None:
        """Give waiting contexts back: half a GiB of the device each."""
        with self._condition:
            self._expected = 0
            idle = [x for x in self._ready if isinstance(x, Lender)]
            self._ready.clear()
        for lender in idle:
            self.retire(lender)

    def close(self) -> None:
        """End every waiting child and give the arenas back."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
            if self._idle is not None:
                self._idle.cancel()
        self._makers.shutdown(wait=True, cancel_futures=True)
        self.drain()
        self._enders.shutdown(wait=True)
        with self._condition:
            arenas, self._arenas = self._arenas, []
        for arena in arenas:
            arena.close()
