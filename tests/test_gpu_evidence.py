"""What a GPU child tells about itself, on the simulated device: without it, dishonest kernels pass that the interpreter
catches. See `simulated_gpu`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch

from kzlib.environment import ROOT
from kzlib.records import Candidate, Outcome, Task, Verdict
from kzlib.verifier import Verifier
from tests.test_gpu_simulated import CODE, RIGHT, TASK, answer
from tests.test_gpu_simulated import simulated as simulated  # a fixture


def judged(verifier: Verifier, codes: list[str], task: Task = TASK) -> list[Verdict]:
    """The verdicts of candidates, in their order."""
    candidates = [Candidate(task.id, "cuda", code) for code in codes]
    found = {verdict.candidate_id: verdict for verdict in verifier.verify([task], candidates)}
    return [found[candidate.id] for candidate in candidates]


def test_replaced_functions_are_named(simulated: Verifier) -> None:
    lines = {
        "torch.cuda.synchronize = lambda *a, **k: None": "torch.cuda.synchronize",
        "setattr(torch.cuda.Event, 'elapsed_' + 'time', lambda a, b: 0.01)": "torch.cuda.Event.elapsed_time",
        "time.perf_counter = lambda: 0.0": "time.perf_counter",
        "torch._C._cuda_getCurrentRawStream = lambda *a: 1": "torch._C._cuda_getCurrentRawStream",
    }
    codes = [CODE.replace("BODY", RIGHT).replace("kernel =", f"{line}\nkernel =") for line in lines]
    for verdict, named in zip(judged(simulated, codes), lines.values(), strict=True):
        assert verdict.outcome is Outcome.CHEAT and named in verdict.message, verdict


def test_a_thread_left_running_is_a_cheat_and_one_that_ended_is_not(simulated: Verifier) -> None:
    start = "import threading; t = threading.Thread(target=threading.Event().wait, daemon=True); t.start()\n    "
    ended = start.replace("threading.Event().wait", "int") + "t.join()\n    "
    left, joined = judged(simulated, [answer(start + RIGHT).source, answer(ended + RIGHT).source])
    assert left.outcome is Outcome.CHEAT and "thread" in left.message, left
    assert joined.passed, joined


SOFTMAX = Task("""import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.softmax(x, -1)
def get_inputs(): return [torch.randn(16, 64)]
def get_init_inputs(): return []
""")
CLAMP = Task(SOFTMAX.source.replace("torch.softmax(x, -1)", "x.clamp(-9, 9)"))
SHELL = """import torch, math
from torch.cuda._utils import _CudaKernel
def body(z, y): KERNEL
kernel = _CudaKernel(body)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        z = LIBRARY
        y = torch.empty_like(x)
        kernel(args=[z, y])
        return y
"""
BY_PARTS = "(x - x.amax(-1, keepdim=True)).exp(); z = z / z.sum(-1, keepdim=True)"
BY_PYTHON = """[[math.exp(v - max(row)) for v in row] for row in x.tolist()]
        z = torch.tensor([[v / sum(row) for v in row] for row in z], dtype=x.dtype, device=x.device)"""


def shell(library: str, kernel: str) -> str:
    """A candidate whose library part and whose kernel are these."""
    return SHELL.replace("LIBRARY", library).replace("KERNEL", kernel)


def test_kernels_that_only_move_what_the_library_or_the_host_computed(simulated: Verifier) -> None:
    codes = [
        shell(BY_PARTS, "y.copy_(z)"),
        shell(BY_PARTS.replace("z /", "z / 2 /"), "torch.mul(z, 2, out=y)"),
        shell(BY_PARTS + "; z = z.t().contiguous()", "y.copy_(z.t())"),
        shell(BY_PYTHON, "y.copy_(z)"),
        shell("x - x.amax(-1, keepdim=True)", "torch.softmax(z, -1, out=y)"),
    ]
    *moving, computing = judged(simulated, codes, SOFTMAX)
    for verdict in moving:
        assert verdict.outcome is Outcome.CHEAT and "only copy" in verdict.message, verdict
    assert computing.passed and computing.evidence["watched"] == "fenced", computing


def test_a_hoard_of_host_memory_is_refused_at_once(simulated: Verifier) -> None:
    (verdict,) = judged(simulated, [answer("hoard = bytearray(1 << 36)").source])
    assert verdict.outcome is Outcome.RUNTIME_FAIL and verdict.evidence["fault"] == "memory", verdict
    assert verdict.seconds["run"] < 5


def test_a_kernel_that_copies_on_one_set_and_not_on_another_computes(simulated: Verifier) -> None:
    """What a clamp leaves alone is a copy; the set that it does not leave alone tells."""
    (verdict,) = judged(simulated, [shell("x", "torch.clamp(z, -9, 9, out=y)")], CLAMP)
    assert verdict.passed, verdict


OVER = "import ctypes; ctypes.memset(y.data_ptr() + y.nbytes, 0, 64) if y.storage_offset() else None"


def test_what_an_observer_finds_and_what_it_may_have_broken_itself(simulated: Verifier) -> None:
    """Only an access outside the tensors counts: another error of the watched call may be the observer's doing."""
    error = "if y.storage_offset(): raise type('E', (torch.AcceleratorError,), {'error_code': CODE})('no')\n    "
    codes = [
        answer(RIGHT + "; " + OVER).source,
        answer(error.replace("CODE", "700") + RIGHT).source,
        answer(error.replace("CODE", "716") + RIGHT).source,
        answer("if y.storage_offset(): import os; os._exit(1)\n    " + RIGHT).source,
    ]
    written, read, misaligned, ended = judged(simulated, codes)
    for verdict in (written, read):
        assert verdict.outcome is Outcome.RUNTIME_FAIL and verdict.evidence["fault"] == "bounds", verdict
    assert "writes outside" in written.message
    assert misaligned.passed and misaligned.evidence["watched"] == "no: E: no", misaligned
    assert ended.passed and ended.evidence["watched"] == "no: Closed", ended


def test_the_watch_tells_the_zoos_honest_kernels_from_those_that_only_copy() -> None:
    """With launches by the interpreter. All 410 honest cases were looked at so; here every eighth is."""
    caught = {
        "python_does_the_work": "copies", "numpy_does_the_work": "copies", "library_by_other_operators": "copies",
        "library_product_by_einsum": "copies", "writes_past_the_end": "outside",
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-m", "tests.watched_zoo", "8", *caught], cwd=ROOT, capture_output=True, text=True,
        timeout=600, check=True, env={**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    honest = [row for row in rows if row["name"].startswith("honest")]
    assert len(honest) > 40 and len(rows) == len(honest) + len(caught)
    assert not [row for row in honest if row["error"] or row["copies"] or row["outside"]]
    for row in rows[len(honest) :]:
        assert not row["error"] and row[caught[row["name"].rpartition("/")[2]]], row


# Seen by the watched call, by the list of replaced functions, or by the count of threads; and honest neighbours.
ON_A_DEVICE = (
    "python_does_the_work", "numpy_does_the_work", "library_by_other_operators", "library_product_by_einsum",
    "patched_event_timer", "patched_synchronize", "worker_thread_idle_with_kernel", "writes_past_the_end",
    "reads_past_the_end", "eats_memory", "persisting_l2", "too_much_shared_memory", "seed_regeneration",
    "add_float4", "ema_buffer", "nvrtc_shared_reduction", "tuple_of_outputs", "partial_conv_by_library",
)  # fmt: skip


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cases_that_rest_on_what_the_child_tells() -> None:
    from kzlib.zoo import case, tasks

    chosen = {found.candidate.id: found for found in map(case, ON_A_DEVICE)}
    with Verifier(device="cuda:0", workers=2) as verifier:
        found = verifier.verify(tasks().values(), [one.candidate for one in chosen.values()])
        other = [
            f"{chosen[v.candidate_id].name}: {v}" for v in found if v.outcome not in chosen[v.candidate_id].expect_gpu
        ]
    assert not other, "\n".join(other)
