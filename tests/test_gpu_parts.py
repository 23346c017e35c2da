"""The GPU executor: what can be shown anywhere, and, marked gpu, whole verdicts on a device."""

from __future__ import annotations

import random
import threading
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.records import Candidate, Outcome, Task
from kzlib.verifier import wire
from kzlib.verifier.gpu_lanes import Memory, Turnstile
from kzlib.verifier.gpu_pairs import disagreement, refreshed
from kzlib.verifier.gpu_plan import UNKNOWN, Need, reserve, standing
from kzlib.verifier.gpu_references import Baseline
from kzlib.verifier.gpu_wire import TAG, Layout, Place, unpack


def test_a_timed_region_is_alone_and_does_not_starve() -> None:
    turnstile, inside, seen = Turnstile(), [0], []

    def call() -> None:
        for _ in range(20):
            with turnstile.shared():
                inside[0] += 1
                time.sleep(0.001)
                inside[0] -= 1

    def timed() -> None:
        for _ in range(5):
            with turnstile.alone():
                seen.append(inside[0])
                time.sleep(0.001)

    threads = [threading.Thread(target=t) for t in (call, call, timed, call, timed)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [0] * 10


def test_large_judgements_wait_for_memory_and_none_waits_for_ever() -> None:
    memory, peak, used = Memory(100), [0], [0]
    lock = threading.Lock()

    def job(size: int) -> None:
        with memory.reserve(size):
            with lock:
                used[0] += min(size, 100)
                peak[0] = max(peak[0], used[0])
            time.sleep(0.005)
            with lock:
                used[0] -= min(size, 100)

    threads = [threading.Thread(target=job, args=(size,)) for size in (60, 60, 30, 500, 10, 90)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert peak[0] <= 100


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 100), st.lists(st.integers(0, 160), min_size=1, max_size=24))
def test_memory_is_never_overdrawn_and_everybody_is_served(total: int, sizes: list[int]) -> None:
    memory, lock, seen = Memory(total), threading.Lock(), [0, 0, 0]  # held now, most ever held, served

    def job(size: int) -> None:
        with memory.reserve(size) as taken:
            assert taken == min(size, total)
            with lock:
                seen[0] += taken
                seen[1] = max(seen[1], seen[0])
            time.sleep(0)
            with lock:
                seen[0] -= taken
                seen[2] += 1

    threads = [threading.Thread(target=job, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen[2] == len(sizes) and seen[1] <= total and memory.used == 0


def test_a_large_judgement_is_not_overtaken_by_small_ones_that_asked_later() -> None:
    memory, order = Memory(10), []
    first = memory.take(6)

    def job(name: str, size: int) -> None:
        with memory.reserve(size):
            order.append(name)

    threads = []
    for name, size in (("large", 9), ("small", 1), ("small too", 2)):  # the small ones would fit at once
        threads.append(threading.Thread(target=job, args=(name, size)))
        threads[-1].start()
        wait_until = time.monotonic() + 30
        while len(memory._queue) < len(threads) and time.monotonic() < wait_until:
            time.sleep(0.001)
    assert order == []
    memory.give(first)
    for thread in threads:
        thread.join(60)
    assert order[0] == "large" and sorted(order[1:]) == ["small", "small too"]


SIZES = st.integers(0, 8 << 30)


@given(SIZES, SIZES, SIZES, SIZES)
def test_a_plan_covers_what_both_sides_hold_and_grows_with_the_task(i: int, o: int, w: int, work: int) -> None:
    need = Need(i, o, w, work)
    held_while_timed = (2 + 2 * 2) * i + 2 * 3 * o + 2 * work + 2 * w  # judge, and two sides
    assert reserve(need) >= held_while_timed
    assert reserve(Need(i, o, w, work + 1)) >= reserve(need)
    assert Need.read({"inputs": i, "outputs": o, "weights": w, "workspace": work}) == need


@pytest.mark.parametrize(
    "told", [None, {}, {"inputs": -1, "outputs": 0, "weights": 0, "workspace": 0}, "x", {"inputs": 1}]
)
def test_a_size_that_cannot_be_believed_is_replaced_by_a_guess(told: object) -> None:
    assert Need.read(told) == Need(UNKNOWN, UNKNOWN, 0)


def test_the_largest_kernelbench_tasks_fit_an_h200_alone() -> None:
    gib = 1 << 30
    card = int(140 * gib * 0.95) - standing(12, 12, 12 * gib)
    assert reserve(Need(6 * gib, 6 * gib, 0)) <= card  # a softmax over 4096 x 393216 floats
    assert card // reserve(Need(1 << 20, 1 << 20, 1 << 20)) > 64  # small tasks never wait for memory


def test_values_without_device_tensors_cross_unchanged() -> None:
    value = {"inputs": [1, (2.5, None)], "cpu": torch.ones(2)}
    layout = Layout()
    tree = layout.pack(value)
    assert not layout.tensors
    assert unpack(tree, None)["inputs"] == [1, (2.5, None)]


@pytest.mark.parametrize(
    "row",
    [
        [-512, "float32", [4], [1]], [0, "float32", [1 << 40], [1]], [8, "float32", [4], [1]], [0, "float32", [4], [0]],
        [0, "object", [4], [1]], [0, "float32", [2, 2], [1]], "nonsense", [0, "float32", [4, -1], [1, 1]],
    ],
)  # fmt: skip
def test_a_child_cannot_point_outside_its_block(row: object) -> None:
    with pytest.raises(wire.WireError):
        Place.from_json({TAG: row}, 4096)


def test_fresh_contents_keep_what_a_task_relies_on() -> None:
    rng = random.Random(3)
    floats, labels = torch.rand(64, 32), torch.randint(0, 10, (64,))
    signs, lower = torch.randint(0, 2, (64,)) * 2.0 - 1, torch.tril(torch.rand(16, 16))
    source = [floats, labels, signs, lower]
    target = [torch.empty_like(t) for t in source]
    refreshed(target, source, rng)
    assert not torch.equal(target[0], floats) and target[0].max() <= 1 and target[0].min() >= 0
    assert torch.equal(target[1].sort().values, labels.sort().values)
    assert set(target[2].tolist()) <= {-1.0, 1.0}
    assert torch.equal(target[3] == 0, lower == 0)


def test_a_replayed_answer_is_seen_and_rounding_is_not() -> None:
    x = torch.randn(1000)
    assert disagreement(x * (1 + 1e-6), x, 1.0) == 0.0
    assert disagreement(x * 0.97, x, 1.0) > 0.9
    assert disagreement(torch.zeros(1000), x, 1.0) > 0.9
    assert disagreement((x, {"a": x}), (x, {"a": x}), 1.0) == 0.0
    assert disagreement(x[:10], x, 1.0) == 1.0
    assert disagreement(torch.full((1000,), float("nan")), x, 1.0) == 1.0


TASK = Task("""import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x)
def get_inputs(): return [torch.randn(64, 1024)]
def get_init_inputs(): return []
""")
CUDA = '''import torch
from torch.utils.cpp_extension import load_inline
SOURCE = """
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  BODY
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  k<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
m = load_inline(name="m", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, x): return m.run(x.contiguous())
'''
BODIES = {
    "right": ("if (i < n) y[i] = fmaxf(x[i], 0.f);", {Outcome.PASS}),
    "wrong": ("if (i < n) y[i] = x[i];", {Outcome.WRONG}),
    "does not compile": ("y[i] = ;", {Outcome.COMPILE_FAIL}),
    "illegal access": ("y[i + (1ll << 40)] = 1.f;", {Outcome.RUNTIME_FAIL}),
    "never returns": ("while (n > 0) { if (x[0] == 1e30f) break; }", {Outcome.TIMEOUT}),
    "right again": ("if (i < n) y[i] = x[i] > 0.f ? x[i] : 0.f;", {Outcome.PASS}),
}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_verdicts_on_a_device_do_not_depend_on_what_came_before() -> None:
    from kzlib.verifier import Verifier

    with Verifier(device="cuda:0", workers=2) as verifier:
        for name, (body, expected) in BODIES.items():
            verdict = next(verifier.verify([TASK], [Candidate(TASK.id, "cuda", CUDA.replace("BODY", body))]))
            assert verdict.outcome in expected, (name, verdict)
            assert verdict.where.startswith("cuda:")
            if verdict.passed:
                assert verdict.timing is not None and verdict.timing.kind == "measured"
                assert verdict.evidence["builds"] == ["lean"]


def test_a_reference_that_was_not_lent_its_memory_is_not_asked_again() -> None:
    ended: list[object] = []
    baseline = Baseline(lambda: "second", ended.append, "first")  # type: ignore[arg-type, return-value]
    with pytest.raises(torch.OutOfMemoryError), baseline.live():
        raise torch.OutOfMemoryError("no room for its answer")  # it waits for a block that never comes
    with baseline.live() as lender:
        assert lender == "second" and ended == ["first"]
    with pytest.raises(KeyError), baseline.live():
        raise KeyError("the candidate's fault")
    assert ended == ["first"]
