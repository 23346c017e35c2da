"""The clock inside a GPU child: one call, cold, by device events. What it needs is taken before generated code runs.

What it says is held against the judge's own clock (`timing.charged_us`). Source: issue 4, item 4; verifiers.md A1-A24.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from kzlib.verifier import children

DEVICE = torch.device("cuda", 0)
MAX_SLEEP_CYCLES = 6_000_000  # about 3 ms
DELAY_CYCLES = 1_000_000  # about 0.5 ms: longer than a host needs to start a kernel


class Clock:
    """Times one call with device events, cold and without the host's launch cost: flush, spin, start, call, end.

    Every function it needs is taken before generated code is imported.
    """

    def __init__(self) -> None:
        properties = torch.cuda.get_device_properties(DEVICE)
        self._flush = torch.empty(2 * properties.L2_cache_size // 4 + 1024, dtype=torch.int32, device=DEVICE)
        self._zero = torch.Tensor.zero_
        self._sleep = torch.cuda._sleep
        self._copy = torch.Tensor.copy_
        self._synchronize = self.wait = torch.cuda.synchronize
        self.capturing = torch.cuda.is_current_stream_capturing
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._record = torch.cuda.Event.record
        self._elapsed = torch.cuda.Event.elapsed_time
        self._now = time.perf_counter
        self.cycles = 200_000

    def time(self, call: Callable[[], Any], inputs: Any, staged: Any) -> tuple[Any, float]:
        """The call's result, and host microseconds it took to enqueue the call; `read` gives the device's."""
        self._synchronize()
        self.deliver(inputs, staged)
        self._zero(self._flush)
        self._sleep(self.cycles)
        self._record(self._start)
        begun = self._now()
        result = call()
        enqueued = self._now() - begun
        self._record(self._end)
        return result, enqueued * 1e6

    def deliver(self, inputs: Any, staged: Any) -> None:
        """Put the staged contents into the inputs, in stream order, a good while after this returns.

        Work on a stream that does not wait for the current one starts before and reads what stood there earlier.
        """
        self._sleep(DELAY_CYCLES)
        for live, fresh in zip(children.tensors_of(inputs), children.tensors_of(staged), strict=True):
            self._copy(live, fresh)

    def read(self) -> float:
        """Device microseconds of the last timed call, once everything has ended."""
        self._synchronize()
        return self._elapsed(self._start, self._end) * 1e3

    def settle(self, enqueue_us: float) -> None:
        """Spin about as long as the host needs to enqueue one call (the clock of the device is near 2 GHz)."""
        self.cycles = int(min(MAX_SLEEP_CYCLES, max(40_000, 2.0 * enqueue_us * 2000)))


def timed_call(clock: Clock, model: torch.nn.Module, request: dict[str, Any]) -> dict[str, Any]:
    with torch.no_grad():
        output, enqueue_us = clock.time(lambda: model(*request["inputs"]), request["inputs"], request["staged"])
        kept = children.copy_tree(
            output
        )  # at once, before anything is waited for: late work on another stream is missed
    device_us = clock.read()
    if request.get("settle"):
        clock.settle(enqueue_us)
    return {"output": kept, "device_us": device_us, "enqueue_us": enqueue_us}
