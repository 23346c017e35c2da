"""What a GPU child tells about itself, on the simulated device: without it, dishonest kernels pass that the interpreter
catches. See `simulated_gpu`."""

from __future__ import annotations

import pytest

from kzlib.records import Candidate, Outcome, Task, Verdict
from kzlib.verifier import Verifier
from tests.test_gpu_simulated import CODE, RIGHT, TASK, answer
from tests.test_gpu_simulated import simulated as simulated  # a fixture

assert Verifier and Verdict and Task


def judged(verifier: Verifier, code: str, task: Task = TASK) -> Verdict:
    """The one verdict of a candidate."""
    return next(verifier.verify([task], [Candidate(task.id, "cuda", code)]))


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("torch.cuda.synchronize = lambda *a, **k: None", "torch.cuda.synchronize"),
        ("setattr(torch.cuda.Event, 'elapsed_' + 'time', lambda a, b: 0.01)", "torch.cuda.Event.elapsed_time"),
        ("time.perf_counter = lambda: 0.0", "time.perf_counter"),
        ("torch._C._cuda_getCurrentRawStream = lambda *a: 1", "torch._C._cuda_getCurrentRawStream"),
    ],
)
def test_replaced_functions_are_named(simulated: Verifier, line: str, named: str) -> None:
    verdict = judged(simulated, CODE.replace("BODY", RIGHT).replace("kernel =", f"{line}\nkernel ="))
    assert verdict.outcome is Outcome.CHEAT and named in verdict.message, verdict


def test_a_thread_left_running_is_a_cheat_and_one_that_ended_is_not(simulated: Verifier) -> None:
    start = "import threading; t = threading.Thread(target=threading.Event().wait, daemon=True); t.start()\n    "
    left = judged(simulated, answer(start + RIGHT).source)
    assert left.outcome is Outcome.CHEAT and "thread" in left.message, left
    ended = start.replace("threading.Event().wait", "int") + "t.join()\n    "
    assert judged(simulated, answer(ended + RIGHT).source).passed
