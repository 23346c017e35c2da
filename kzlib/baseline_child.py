"""The child of `kzlib.baselines`: reads one task as JSON, times its reference, prints one JSON line.

Eager and compiled calls alternate, with a cold L2 cache before each, so that a change of clocks hits both alike.
"""

from __future__ import annotations

import fcntl
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 30
WARM_UP = 3
L2_BYTES = 256 << 20  # more than any L2 cache today


def main() -> None:
    """Standard input: {"source", "device", "turn": a file to lock while timing}. Last line printed: the two times."""
    request = json.load(sys.stdin)
    import torch

    device = request["device"]
    space: dict[str, Any] = {"__name__": "reference"}
    exec(compile(request["source"], "reference.py", "exec"), space)  # noqa: S102  a process of its own, as the verifier's
    torch.manual_seed(0)
    model = space["Model"](*space["get_init_inputs"]()).to(device).eval()
    inputs = [x.to(device) if torch.is_tensor(x) else x for x in space["get_inputs"]()]
    compiled = torch.compile(model)
    flush = torch.empty(L2_BYTES // 4, device=device) if device != "cpu" else None
    with torch.no_grad():
        for call in (model, compiled):
            for _ in range(WARM_UP):
                call(*inputs)
        with Path(request["turn"]).open("rb") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            pairs = [
                (_microseconds(model, inputs, flush), _microseconds(compiled, inputs, flush)) for _ in range(ROUNDS)
            ]
    eager, fast = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(json.dumps({"eager_us": eager, "compiled_us": fast}))


def _microseconds(call: Callable[..., Any], inputs: list[Any], flush: Any) -> float:
    import torch

    if flush is None:
        start = time.perf_counter()
        call(*inputs)
        return (time.perf_counter() - start) * 1e6
    flush.zero_()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call(*inputs)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e3


if __name__ == "__main__":
    main()
