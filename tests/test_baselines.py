"""The compiled baseline: a wrong factor would turn a loss into a win."""

from __future__ import annotations

import json

import pytest

from kzlib.baselines import Baseline, over_compiled, time_baselines
from kzlib.metrics import Attempt, fast_p_at
from kzlib.records import Outcome, Task

MODEL = """
import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x) + 1
def get_inputs(): return [torch.randn(64, 64)]
def get_init_inputs(): return []
"""


def test_a_kernel_faster_than_eager_may_be_slower_than_compiled():
    attempts = [Attempt("t", 0, Outcome.PASS, speedup=1.5, timing_kind="measured")]
    again = over_compiled(attempts, [Baseline("t", 100.0, 50.0)])
    assert again[0].speedup == pytest.approx(0.75)
    assert fast_p_at(attempts, 1.0, 1).value == 1.0
    assert fast_p_at(again, 1.0, 1).value == 0.0


def test_a_task_without_the_baseline_is_left_out_not_guessed():
    attempts = [Attempt(t, 0, Outcome.PASS, speedup=2.0, timing_kind="measured") for t in ("a", "b")]
    again = over_compiled(attempts, [Baseline("a", 10.0, 10.0), Baseline("b", None, None, "broken")])
    estimate = fast_p_at(again, 1.0, 1)
    assert (estimate.value, estimate.tasks, estimate.left_out) == (1.0, 1, {"not_timed": 1})


def test_a_reference_that_breaks_or_hangs_ends_its_child_only():
    broken = Task("raise ValueError('this module is broken')")
    hangs = Task("import time\ntime.sleep(1000)")
    first = time_baselines([broken], "cpu")[0]
    assert first.eager_us is None
    assert "this module is broken" in first.reason
    assert "not done in" in time_baselines([hangs], "cpu", seconds=8)[0].reason


def test_what_was_timed_is_kept_and_a_torn_line_is_timed_again(tmp_path):
    broken = Task("raise ValueError('this module is broken')")
    kept = tmp_path / "kept.jsonl"
    kept.write_text('{"task_id": "known", "eager_us": 2.0, "compiled_us": 1.0, "reason": ""}\n{"task_id": "to')
    found = time_baselines([Task("never run", id="known"), broken, broken], "cpu", kept=kept)
    assert [row.task_id for row in found] == ["known", broken.id]
    assert (found[0].eager_us, found[1].eager_us) == (2.0, None)
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [row["task_id"] for row in lines] == ["known", broken.id]


@pytest.mark.gpu
def test_both_baselines_are_timed_on_a_gpu():
    found = time_baselines([Task(MODEL)], "cuda")[0]
    assert found.reason == ""
    assert 0 < found.compiled_us < 1e5
    assert 0 < found.eager_us < 1e5


@pytest.mark.slow
def test_the_child_compiles_on_a_cpu_too():
    found = time_baselines([Task(MODEL)], "cpu")[0]
    assert found.reason == ""
    assert found.eager_us > 0
    assert found.compiled_us > 0
