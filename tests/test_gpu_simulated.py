"""The GPU judge's machinery end to end on a simulated device: what would break for a user if a process, a block of
memory or a protocol step went wrong. Kernels are Python functions here; see `simulated_gpu`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import verifier as benchmark
from kzlib.records import Candidate, Outcome, Task
from kzlib.verifier import Verifier, gpu, gpu_baseline, gpu_references, gpu_stock, pool
from tests import simulated_gpu

TASK = Task("""import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(64))
    def forward(self, x): return torch.relu(x * self.scale)
def get_inputs(): return [torch.randn(16, 64)]
def get_init_inputs(): return []
""")
NORM = Task("""import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
    def forward(self, x): return self.norm(x)
def get_inputs(): return [torch.randn(32, 8)]
def get_init_inputs(): return []
""")
CODE = """import torch, time
from torch.cuda._utils import _CudaKernel
def body(x, scale, y):
    BODY
kernel = _CudaKernel(body)
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(64))
    def forward(self, x):
        y = torch.empty_like(x)
        kernel(args=[x, self.scale, y])
        return y
"""
NORM_CODE = """import torch
from torch.cuda._utils import _CudaKernel
def body(x, y, m):
    mean, var = x.mean(0), x.var(0, unbiased=False)
    torch.mul((x - mean) * torch.rsqrt(var + 1e-5), m.weight, out=y)
    y += m.bias
    m.running_mean.lerp_(mean, 0.1)
    m.running_var.lerp_(x.var(0), 0.1)
    m.num_batches_tracked += 1
kernel = _CudaKernel(body)
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(8)
    def forward(self, x):
        y = torch.empty_like(x)
        kernel(args=[x, y, self.norm])
        return y
"""
RIGHT = "torch.mul(x, scale, out=y).clamp_(min=0)"


def answer(body: str, task: Task = TASK) -> Candidate:
    return Candidate(task.id, "cuda", CODE.replace("BODY", body))


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[Verifier]:
    for name in ("synchronize", "empty_cache", "mem_get_info", "get_device_name", "get_device_properties", "Event",
                 "set_device", "_sleep", "reset_peak_memory_stats", "memory_allocated", "max_memory_allocated",
                 "get_device_capability", "is_current_stream_capturing"):  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, getattr(torch.cuda, name))
    from torch.cuda import _utils

    from kzlib.verifier import gpu_memory, gpu_stock, gpu_wire

    monkeypatch.setattr(_utils, "_CudaKernel", _utils._CudaKernel)
    for module in (gpu_memory, gpu_wire, gpu_stock):
        monkeypatch.setattr(module, "Block", module.Block)
    for module in (gpu_memory, gpu_wire):
        monkeypatch.setattr(module, "on_device", module.on_device)
    simulated_gpu.install()
    monkeypatch.setattr(gpu, "_WALLS", [True])
    config = gpu.server_config
    monkeypatch.setattr(gpu, "server_config", lambda walls: replace(config(walls), preload=("tests.simulated_gpu",)))
    with Verifier(device="cuda:0", workers=2) as verifier:
        yield verifier


def test_right_wrong_and_broken_candidates_end_as_they_should(simulated: Verifier) -> None:
    cases = {
        RIGHT: Outcome.PASS,
        "y.copy_(x)": Outcome.WRONG,
        "raise ValueError('no')": Outcome.RUNTIME_FAIL,
        "import os; os._exit(3)": Outcome.RUNTIME_FAIL,
        "raise torch.OutOfMemoryError('too much')": Outcome.RUNTIME_FAIL,
        RIGHT + "  # again": Outcome.PASS,
    }
    candidates = {answer(body).id: outcome for body, outcome in cases.items()}
    verdicts = {v.candidate_id: v for v in simulated.verify([TASK], [answer(body) for body in cases])}
    assert {key: v.outcome for key, v in verdicts.items()} == candidates, [v.message for v in verdicts.values()]
    good = verdicts[answer(RIGHT).id]
    assert good.timing is not None and good.timing.kind == "measured" and good.timing.n >= 8
    assert good.evidence["precision"] == "ieee"
    memory = verdicts[answer("raise torch.OutOfMemoryError('too much')").id]
    assert memory.evidence["fault"] == "memory" and memory.evidence["alone_on_device"]


def test_what_the_interpreter_finds_takes_no_gpu_time(simulated: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = """import torch, triton, triton.language as tl
@triton.jit
def kernel(x, scale, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, i < n) * tl.load(scale + i % 64, i < n)
    tl.store(y + i, RESULT, i < n)
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(64))
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(4,)](x, self.scale, y, x.numel(), 256)
        return y
"""
    bodies = {"wrong": "a", "right": "tl.maximum(a, 0.0)"}
    answers = {name: Candidate(TASK.id, "triton", kernel.replace("RESULT", body)) for name, body in bodies.items()}
    on_a_card = answers["right"].source.replace("y = torch", "assert x.is_cuda\n        y = torch")
    answers["asks for a GPU"] = Candidate(TASK.id, "triton", on_a_card)
    answers["cuda"] = answer("y.copy_(x)")
    reached = []
    with Verifier(device="cuda:0", workers=2, screen=True) as verifier:
        on_gpu = verifier.judge.verdict
        monkeypatch.setattr(verifier.judge, "verdict", lambda *a: reached.append(a[1].id) or on_gpu(*a))
        verdicts = {v.candidate_id: v for v in verifier.verify([TASK], answers.values())}
    found = {name: verdicts[answer.id] for name, answer in answers.items()}
    assert found["wrong"].outcome is Outcome.WRONG and found["wrong"].where == "cpu-interpreter"
    assert set(reached) == {answers[name].id for name in ("right", "asks for a GPU", "cuda")}
    assert found["cuda"].where.startswith("cuda:")


def test_an_output_buffer_that_is_kept_is_no_old_answer(simulated: Verifier) -> None:
    same = "y = getattr(self, 'y', x)\n        if y is x or y.shape != x.shape: y = self.y = torch.empty_like(x)"
    kept = CODE.replace("y = torch.empty_like(x)", same).replace("BODY", RIGHT)
    verdict = next(simulated.verify([TASK], [Candidate(TASK.id, "cuda", kept)]))
    assert verdict.passed, verdict
    by_library = kept.replace("return y", "return torch.relu(x * self.scale)")
    verdict = next(simulated.verify([TASK], [Candidate(TASK.id, "cuda", by_library)]))
    assert verdict.outcome is Outcome.CHEAT, verdict


def test_running_statistics_of_a_train_mode_model_are_followed(simulated: Verifier) -> None:
    verdict = next(simulated.verify([NORM], [Candidate(NORM.id, "cuda", NORM_CODE)]))
    assert verdict.outcome is Outcome.PASS, verdict
    lazy = NORM_CODE.replace("m.running_var.lerp_(x.var(0), 0.1)", "pass")
    verdict = next(simulated.verify([NORM], [Candidate(NORM.id, "cuda", lazy)]))
    assert verdict.outcome is Outcome.WRONG


def test_a_large_task_is_judged_with_one_set_resident(simulated: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_stock, "ARENA", 1 << 16)
    monkeypatch.setattr(gpu_references, "RESIDENT", 1)
    big = Task(TASK.source.replace("16, 64", "600, 64"))  # 150 KB a set: more than the arena
    verdicts = list(simulated.verify([big], [answer(RIGHT, big), answer("y.copy_(x)", big)]))
    assert sorted(v.outcome for v in verdicts) == [Outcome.PASS, Outcome.WRONG], [v.message for v in verdicts]
    (kept, _) = next(iter(simulated.judge.references._kept.values()))
    assert kept.sets.room == 1 and len(kept.sets._rows) <= 1


def test_a_slow_float64_run_is_left_out(simulated: Verifier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # where a task's source is written
    task = Task("import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): return x.relu()\n"
                "def get_inputs(): return [torch.randn(64)]\ndef get_init_inputs(): return []\n")  # fmt: skip
    for pays in (True, False):
        monkeypatch.setattr(gpu_baseline, "exact_pays", lambda rows, pays=pays: pays)
        reference = gpu_baseline.GpuReference(
            {"source": task.source, "seed": 3, "sets": 8, "plain": 2, "probes": True, "float64": True, "shake": False,
             "shake_state": False}, [None], device="cpu",
        )  # fmt: skip
        reference.head()
        assert (reference.row(0)["exact"] is not None) is pays


def test_checks_of_tasks_run_on_the_device_too(simulated: Verifier) -> None:
    same = Task("import torch\nclass Model(torch.nn.Module):\n    def forward(self, x): return x * 0\n"
                "def get_inputs(): return [torch.randn(64)]\ndef get_init_inputs(): return []\n")  # fmt: skip
    checks = {c.task_id: c for c in simulated.check([TASK, same])}
    assert checks[TASK.id].ok and not checks[same.id].ok


def test_a_killed_baseline_is_started_again(simulated: Verifier) -> None:
    first = next(simulated.verify([TASK], [answer(RIGHT)], seed=5))
    for baseline in list(simulated.judge.references._live.values()):
        assert baseline.end_process()
    second = next(simulated.verify([TASK], [answer(RIGHT + "  # twice")], seed=5))
    assert first.passed and second.passed, second


def test_another_shape_is_told_and_no_verdict_depends_on_it(simulated: Verifier) -> None:
    fixed = RIGHT + "\n    assert x.shape[0] == 16, 'made for a batch of 16'"
    general, special = simulated.verify([TASK], [answer(RIGHT)]), simulated.verify([TASK], [answer(fixed)])
    for verdict, right in ((next(general), True), (next(special), False)):
        assert verdict.passed and verdict.evidence["other_shape"]["right"] is right, verdict
        assert "9x64" in verdict.message


def test_the_benchmarks_floor_section_gives_rows_that_its_file_takes(
    simulated: Verifier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Pieces of a context and warm children a second; where there is no driver, a sentence instead of a table."""
    with pytest.raises(RuntimeError, match="no context could be made"):
        benchmark.floors(simulated)
    pieces = {"event": "context", "seconds": 0.4, "walls": [], "user": 0.1, "system": 0.2, "driver": 0.1,
              "context": 0.2, "torch": 0.1, "first_kernels": 0.1, "clock": 0.1}  # fmt: skip
    monkeypatch.setattr(pool.Child, "receive", _instead(pool.Child.receive, pieces))
    rows = benchmark.floors(simulated)
    out = tmp_path / "floor.csv"
    benchmark.save(out, rows, benchmark.facts("simulated"))
    benchmark.save(out, rows, benchmark.facts("simulated"))  # run again: rows are replaced
    lines = out.read_text().splitlines()
    assert len(lines) == 6 and "fresh contexts, 12 at once" in lines[4] and "system=0.200" in lines[4]
    assert "warm children" in lines[5]


def _instead(honest: Any, pieces: dict[str, Any]) -> Any:
    def receive(self: pool.Child, seconds: float, limit: int = 1 << 40) -> Any:
        answer = honest(self, seconds, limit)
        failed = isinstance(answer, dict) and answer.get("event") == "failed" and "walls" in answer
        return dict(pieces) if failed else answer

    return receive


def test_references_of_the_next_tasks_are_made_ahead_and_once(
    simulated: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates of one task start together: without this, all of them would wait for their reference."""
    made: list[tuple[str, str]] = []
    run = gpu_references.GpuReferences._run

    def counted(self: Any, server: Any, task: Task, *rest: Any) -> Any:
        made.append((task.id, threading.current_thread().name.split("_")[0]))
        return run(self, server, task, *rest)

    monkeypatch.setattr(gpu_references.GpuReferences, "_run", counted)
    tasks = [Task(TASK.source + f"# {n}\n") for n in range(4)]
    candidates = [answer(RIGHT + f"  # {n}", task) for task in tasks for n in range(3)]
    verdicts = list(simulated.verify(tasks, candidates))
    assert len(verdicts) == 12 and all(v.passed for v in verdicts), [v.message for v in verdicts]
    assert sorted(task for task, _ in made) == sorted(task.id for task in tasks)
    assert "kz-reference" in {thread for _, thread in made}
    waited = [v.seconds["reference"] for v in verdicts]
    assert min(waited) < 0.05


def test_an_answer_that_depends_on_the_calls_before_is_timed_from_one_state(simulated: Verifier) -> None:
    task = Task("""import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ema", torch.zeros(8))
    def forward(self, x):
        self.ema.mul_(0.9).add_(0.1 * x.mean(0))
        return x - self.ema
def get_inputs(): return [torch.randn(20, 8)]
def get_init_inputs(): return []
""")
    code = """import torch
from torch.cuda._utils import _CudaKernel
def body(x, ema, y):
    e, x, y = ema.numpy(), x.numpy(), y.numpy()  # unseen by the log of library operators, as a kernel's work is
    e *= 0.9
    e += 0.1 * x.mean(0)
    y[:] = x - e
kernel = _CudaKernel(body)
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ema", torch.zeros(8))
    def forward(self, x):
        y = torch.empty_like(x)
        kernel(args=[x, self.ema, y])
        return y
"""
    (verdict,) = simulated.verify([task], [Candidate(task.id, "cuda", code)])
    assert verdict.passed and verdict.timing is not None, verdict.message


@pytest.mark.parametrize("ends", ["x.abs().max() > 40", "x.shape[0] < 16", "x.mean() > 20 or x.shape[0] < 16"])
def test_inputs_that_end_the_references_process_are_no_probe_of_its_task(simulated: Verifier, ends: str) -> None:
    """As an index or a probability out of its range does, by an assertion on the device."""
    line = f"        import os; ({ends}) and os._exit(9)\n        return torch.relu("
    task = Task(TASK.source.replace("def forward(self, x): return torch.relu(", "def forward(self, x):\n" + line))
    (verdict,) = simulated.verify([task], [answer(RIGHT, task)])
    assert verdict.passed, verdict


def test_an_answer_without_elements_makes_an_invalid_task(simulated: Verifier) -> None:
    task = Task(TASK.source.replace("torch.relu(x * self.scale)", "(x * self.scale)[:0]"))
    (verdict,) = simulated.verify([task], [answer(RIGHT, task)])
    assert verdict.outcome is Outcome.INVALID_TASK, verdict
