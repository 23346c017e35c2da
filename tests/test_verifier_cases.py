"""What a user relies on: each kind of honest, broken and dishonest kernel gets its own outcome, on the CPU."""

# ruff: noqa: E501 - sources of kernels, one a line

import dataclasses

import pytest
import torch

from kzlib.records import Candidate, Outcome, Task
from kzlib.verifier import Verifier, resolve_device
from kzlib.verifier.reference import variants
from tests.verifier_support import DOUBLE, DOUBLE_TASK, HEAD, TRITON, double_with, judge, task, verifier


def forward(body: str, setup: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{TRITON}{setup}\nclass ModelNew(nn.Module):\n    def forward(self, x):\n{lines}"


def test_an_honest_kernel_passes_with_its_evidence_and_a_modelled_time():
    verdict = judge(DOUBLE_TASK, DOUBLE)
    assert verdict.outcome is Outcome.PASS, verdict.message
    assert verdict.where == "cpu-interpreter" and verdict.timing.kind == "modelled"
    assert verdict.timing.speedup == pytest.approx(2.0, rel=0.01)  # one launch where the library makes two
    assert verdict.evidence["kernels"] == ["double"] and verdict.evidence["library_ops"] == []
    assert {"fork", "load", "run", "compare", "reference", "total"} <= verdict.seconds.keys()


BROKEN = {
    "wrong factor": (double_with("v * 2", "v * 3"), "wrong"),
    "skipped bias": (double_with(" + 1, mask", ", mask"), "wrong"),
    "dropped tail": (double_with("triton.cdiv(x.numel(), 128)", "x.numel() // 128"), "wrong"),
    "half precision inside": (double_with("v * 2", "v.to(tl.float16).to(tl.float32) * 2"), "wrong"),
    "missing load and store mask": (double_with(", mask=i < n", ""), "runtime_fail"),
    "store past the end": (double_with("y + i, v * 2 + 1, mask=i < n", "y + i, v * 2 + 1"), "runtime_fail"),
    "syntax": ("def f(:\n", "compile_fail"),
    "missing import": ("import no_such_package\n", "compile_fail"),
    "no class": (HEAD, "compile_fail"),
    "unknown function of the language": (double_with("v * 2", "tl.no_such_thing(v)"), "compile_fail"),
    "shapes that do not fit": (double_with("v * 2", "v * tl.arange(0, 64)"), "compile_fail"),
    "exception in forward": (double_with("y = torch", "raise RuntimeError('cuda out of memory')\n        y = torch"), "runtime_fail"),
    "exception in the constructor": (forward("return x").replace("    def forward", "    def __init__(self, a): pass\n    def forward"), "runtime_fail"),
    "exit with success": ("import os\nos._exit(0)", "runtime_fail"),
    "sys.exit": ("import sys\nsys.exit(0)", "runtime_fail"),
    "uninitialised output": (forward("return torch.empty_like(x)"), "wrong"),
    "zeroed inputs": (forward("x.zero_(); return torch.ones_like(x)"), "wrong"),
    "changed inputs": (double_with("return y", "x.add_(1); return y"), "wrong"),
    "fewer elements": (double_with("return y", "return y[:1]"), "wrong"),
    "other type": (double_with("return y", "return y.double()"), "wrong"),
    "not a tensor": (double_with("return y", "return [y]"), "wrong"),
    "a string": (double_with("return y", "return object()"), "wrong"),
    "library only": (forward("return x * 2 + 1"), "library_only"),
    "fallback in a handler": (forward("try: return missing(x)\nexcept Exception: return x * 2 + 1"), "library_only"),
    "kernel defined, never launched": (double_with("double[(triton", "(lambda *a, **k: y.copy_(x * 2 + 1))(1) if True else double[(triton"), "library_only"),
    "decoy launch": (double_with("return y", "return x * 2 + 1"), "cheat"),
    "identity kernel after the library": (double_with("v * 2 + 1", "v").replace("(x, y, x.numel(), B=128)", "(x * 2 + 1, y, x.numel(), B=128)"), "cheat"),
    "memo by pointer": (double_with("        y = torch.empty_like(x)\n", "        if hasattr(self, 'memo'): return self.memo\n        y = self.memo = torch.empty_like(x)\n"), "wrong"),
    "tensor subclass": (double_with("return y", "return y.as_subclass(type('Lazy', (torch.Tensor,), {}))"), "cheat"),
    "thread left behind": (double_with("return y", "import threading, time\n        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\n        return y"), "cheat"),
    "patched clock": (double_with("@triton.jit", "import time\ntime.perf_counter = lambda: 0.0\n@triton.jit"), "cheat"),
    "patched comparator": (double_with("@triton.jit", "torch.allclose = torch.equal = lambda *a, **k: True\n@triton.jit"), "cheat"),
    "tf32 switch": (double_with("@triton.jit", "torch.backends.cuda.matmul.allow_tf32 = True\n@triton.jit"), "cheat"),
    "frame walk": (forward("import sys\nreturn sys._getframe(3)"), "cheat"),
    "imports the verifier": ("import kzlib.verifier\n", "cheat"),
    "ctypes": (forward("import ctypes\nctypes.memset(x.data_ptr(), 0, 4); return ctypes.string_at(x.data_ptr(), 4)"), "cheat"),
    "numpy does the work": (forward("return torch.from_numpy(x.numpy() * 2 + 1)"), "runtime_fail"),
}  # fmt: skip


def test_every_broken_or_dishonest_kernel_gets_its_own_outcome():
    rows = {Candidate(DOUBLE_TASK.id, "triton", s): (name, want) for name, (s, want) in BROKEN.items()}
    by_id = {c.id: row for c, row in rows.items()}
    got = {by_id[v.candidate_id]: v for v in verifier().verify([DOUBLE_TASK], rows)}
    assert len(got) == len(BROKEN)
    assert {k: v.outcome.value for k, v in got.items() if v.outcome.value != k[1]} == {}
    for verdict in got.values():
        assert len(verdict.message.splitlines()) <= 5
        assert "/tmp" not in verdict.message and "kz-" not in verdict.message


def test_messages_name_the_candidates_own_lines():
    source = double_with("v * 2", "tl.no_such_thing(v)")
    line = next(i for i, text in enumerate(source.splitlines(), 1) if "no_such_thing" in text)
    assert f"line {line}: " in judge(DOUBLE_TASK, source).message
    assert "line 1" in judge(DOUBLE_TASK, "def f(:\n").message
    message = judge(DOUBLE_TASK, double_with(", mask=i < n)\n    tl.store", ")\n    tl.store")).message
    assert "84 of 128 lanes of kernel double read outside" in message


def test_honest_words_and_constructs_are_no_offence():
    source = double_with("@triton.jit", "# upstream scale; a stream of numbers\n@triton.jit")
    source = source.replace(
        "        return y",
        "        try:\n            pass\n        except Exception:\n            pass\n        return y",
    )
    assert judge(DOUBLE_TASK, source).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("body", "gate"),
    [
        ("return torch.empty_like(x)", "deterministic|finite|depends_on_inputs|null_predictors"),
        ("return F.dropout(x, 0.5, training=True)", "deterministic"),
        ("return x[:, :0]", "not_tiny|depends_on_inputs|null_predictors"),
        ("return torch.ones_like(x)", "depends_on_inputs"),
        ("return x * 0", "depends_on_inputs|null_predictors"),
        ("return x", "null_predictors"),
        ("return x / 0", "finite"),
        ("return x.sigmoid() * 1e-6 + 1", "null_predictors"),
        ("return undefined(x)", "runs"),
    ],
)
def test_tasks_that_cannot_be_checked_are_invalid_and_never_the_kernels_fault(body, gate):
    bad = task(body, "[torch.randn(4, 8)]")
    check = next(verifier().check([bad]))
    assert not check.ok and check.gate in gate.split("|"), check
    assert judge(bad, forward("return x")).outcome is Outcome.INVALID_TASK


def test_a_checkable_task_says_so():
    check = next(verifier().check([DOUBLE_TASK]))
    assert check.ok and check.evidence["sets"] == ["plain", "plain", "wide", "shifted", "sunk"]
    whole = next(verifier().check([task("return x * 2", "[torch.randint(-9, 9, (40,))]")]))
    assert whole.ok and whole.evidence["sets"] == ["plain"] * 5


def test_zeros_do_not_pass_a_softmax_of_tiny_values():
    tiny = task("return torch.softmax(x, 1)", "[torch.randn(2, 20_000)]")
    assert judge(tiny, forward("return torch.zeros_like(x)")).outcome is Outcome.WRONG
    assert judge(tiny, forward("return torch.zeros_like(x)"), protocol="keck").outcome is Outcome.PASS


def test_left_out_epsilon_bias_and_maximum_are_found_by_the_probes():
    norm = task(
        "return (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()",
        "[torch.randn(6, 64)]",
    )
    rows = """
@triton.jit
def rows(x, y, B: tl.constexpr):
    r = tl.program_id(0)
    v = tl.load(x + r * B + tl.arange(0, B))
    d = v - tl.sum(v, 0) / B
    tl.store(y + r * B + tl.arange(0, B), RESULT)
"""
    run = "y = torch.empty_like(x)\nrows[(x.shape[0],)](x, y, B=64)\nreturn y"
    good = rows.replace("RESULT", "d / tl.sqrt(tl.sum(d * d, 0) / B + 1e-5)")
    assert judge(norm, forward(run, good)).outcome is Outcome.PASS
    assert judge(norm, forward(run, good.replace(" + 1e-5", ""))).outcome is Outcome.WRONG
    difference = good.replace(
        "tl.sum(d * d, 0) / B + 1e-5", "tl.sum(v * v, 0) / B - (tl.sum(v, 0) / B) * (tl.sum(v, 0) / B) + 1e-5"
    )
    assert judge(norm, forward(run, difference)).outcome is Outcome.WRONG
    soft = task("return torch.softmax(x, 1)", "[torch.randn(6, 64)]")
    stable = rows.replace("RESULT", "tl.exp(v - tl.max(v, 0)) / tl.sum(tl.exp(v - tl.max(v, 0)), 0)")
    assert judge(soft, forward(run, stable)).outcome is Outcome.PASS
    assert judge(soft, forward(run, stable.replace(" - tl.max(v, 0)", ""))).outcome is Outcome.WRONG


def test_weights_are_shared_by_state_and_constant_ones_are_moved():
    linear = task(
        "return self.fc(x)", "[torch.randn(4, 8)]", "[8, 3]", "self.fc = nn.Linear(*args)\nself.fc.bias.data.zero_()"
    )
    kernel = """
@triton.jit
def product(x, w, b, y, K: tl.constexpr, N: tl.constexpr):
    r, c = tl.program_id(0), tl.program_id(1)
    k = tl.arange(0, K)
    tl.store(y + r * N + c, tl.sum(tl.load(x + r * K + k) * tl.load(w + c * K + k), 0) + tl.load(b + c))

class ModelNew(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        torch.randn(1000)  # another order of random numbers
        self.NAME = nn.Linear(n, m)
    def forward(self, x):
        y = x.new_empty(x.shape[0], 3)
        product[(x.shape[0], 3)](x, self.NAME.weight, self.NAME.bias, y, K=8, N=3)
        return y
"""
    for name in ("fc", "projection"):
        assert judge(linear, TRITON + kernel.replace("NAME", name)).outcome is Outcome.PASS
    assert (
        judge(linear, TRITON + kernel.replace("NAME", "fc").replace(" + tl.load(b + c)", "")).outcome is Outcome.WRONG
    )
    prepared = kernel.replace("NAME", "fc").replace("torch.randn(1000)  # another order of random numbers", "pass")
    prepared = prepared.replace(
        "nn.Linear(n, m)\n",
        "nn.Linear(n, m)\n        self.fc.bias.data.zero_()\n        self.packed = self.fc.weight.detach().clone()\n",
    )
    verdict = judge(linear, TRITON + prepared.replace("self.fc.weight, ", "self.packed, "))
    assert verdict.outcome is Outcome.PASS and verdict.evidence["weights"] == "as initialised"


def test_running_statistics_are_compared_after_the_call():
    norm = task("return self.bn(x)", "[torch.randn(16, 4)]", "[4]", "self.bn = nn.BatchNorm1d(args[0])")
    kernel = """
@triton.jit
def batch(x, w, b, m, s, y, N: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(x + i * C + c)
    mean = tl.sum(v, 0) / N
    var = tl.sum((v - mean) * (v - mean), 0) / N
    tl.store(y + i * C + c, (v - mean) / tl.sqrt(var + 1e-5) * tl.load(w + c) + tl.load(b + c))
    tl.store(m + c, tl.load(m + c) * 0.9 + mean * 0.1)
    tl.store(s + c, tl.load(s + c) * 0.9 + var * N / (N - 1) * 0.1)

class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm1d(n)
    def forward(self, x):
        y = torch.empty_like(x)
        self.bn.num_batches_tracked.add_(1)
        batch[(4,)](x, self.bn.weight, self.bn.bias, self.bn.running_mean, self.bn.running_var, y, N=16, C=4)
        return y
"""
    assert judge(norm, TRITON + kernel).outcome is Outcome.PASS
    verdict = judge(norm, TRITON + kernel.replace("    tl.store(m + c, tl.load(m + c) * 0.9 + mean * 0.1)\n", ""))
    assert verdict.outcome is Outcome.WRONG and "running_mean" in verdict.message


def test_in_place_tasks_compare_the_changed_inputs():
    place = task("x.mul_(2).add_(1)\nreturn x", "[torch.randn(300)]")
    honest = double_with("y = torch.empty_like(x)", "y = x")
    assert judge(place, honest).outcome is Outcome.PASS
    assert judge(place, DOUBLE).outcome is Outcome.WRONG


def test_autotuning_that_spoils_the_first_call_is_named():
    total = task("return x.sum().reshape(1)", "[torch.rand(256) + 1]")
    kernel = """
@triton.autotune([triton.Config({"B": b}) for b in (32, 64, 128)], key=["n"]RESET)
@triton.jit
def add_up(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(y, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))
"""
    run = "y = torch.zeros(1)\nadd_up[lambda m: (triton.cdiv(256, m['B']),)](x, y, 256)\nreturn y"
    verdict = judge(total, forward(run, kernel.replace("RESET", "")))
    assert verdict.outcome is Outcome.WRONG and verdict.message.startswith("first call differs")
    assert judge(total, forward(run, kernel.replace("RESET", ', reset_to_zero=["y"]'))).outcome is Outcome.PASS


def test_programs_that_race_on_a_gpu_do_not_pass_by_running_one_after_another():
    total = task("return x.sum().reshape(1)", "[torch.rand(256) + 1]")
    kernel = """
@triton.jit
def add_up(x, y, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y, tl.load(y) + tl.sum(tl.load(x + i), 0))
"""
    run = "y = torch.zeros(1)\nadd_up[(4,)](x, y, B=64)\nreturn y"
    verdict = judge(total, forward(run, kernel))
    assert verdict.outcome is Outcome.WRONG and "race on a GPU" in verdict.message
    atomic = kernel.replace(
        "tl.store(y, tl.load(y) + tl.sum(tl.load(x + i), 0))", "tl.atomic_add(y, tl.sum(tl.load(x + i), 0))"
    )
    assert judge(total, forward(run, atomic)).outcome is Outcome.PASS


def test_bf16_libdevice_and_inline_assembly():
    short = task("return (x * 1.5).to(torch.bfloat16)", "[torch.randn(300, dtype=torch.bfloat16)]")
    assert judge(short, double_with("v * 2 + 1", "v * 1.5")).outcome is Outcome.PASS
    assert judge(short, double_with("v * 2 + 1", "v * 1.75")).outcome is Outcome.WRONG
    dot = task("return (x.float() @ x.float().T).to(torch.bfloat16)", "[torch.randn(16, 16).to(torch.bfloat16)]")
    kernel = """
@triton.jit
def gram(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i[:, None] * B + i[None, :])
    tl.store(y + i[:, None] * B + i[None, :], tl.dot(v, tl.trans(v)).to(tl.bfloat16))
"""
    assert (
        judge(dot, forward("y = torch.empty_like(x)\ngram[(1,)](x, y, B=16)\nreturn y", kernel)).outcome is Outcome.PASS
    )
    for path in ("triton.language.extra import libdevice", "triton.language.extra.cuda import libdevice"):
        curve = double_with("v * 2 + 1", "libdevice.tanh(v)").replace(
            "import triton.language as tl", f"import triton.language as tl\nfrom {path}"
        )
        assert judge(task("return torch.tanh(x)", "[torch.randn(300)]"), curve).outcome is Outcome.PASS
    assembly = double_with("v * 2 + 1", 'tl.inline_asm_elementwise("", "=r,r", [v], tl.float32, True, 1)')
    assert judge(DOUBLE_TASK, assembly).outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize("sign", ["&", "|", "^"])
def test_a_condition_of_one_number_meets_one_of_a_block(sign):
    expected = {"&": "(x > 0.5) & (x[0] > 0)", "|": "(x > 0.5) | (x[0] > 0)", "^": "(x > 0.5) ^ (x[0] > 0)"}[sign]
    conditions = task(f"return x * ({expected})", "[torch.randn(300)]")
    kernel = double_with("v * 2 + 1", f"tl.where((v > 0.5) {sign} (tl.load(x) > 0), v, 0.0)")
    verdict = judge(conditions, kernel)
    assert verdict.passed, verdict


def test_part_library_part_kernel_passes_with_a_label():
    mixed = task("return torch.relu(x @ x.T)", "[torch.randn(16, 16)]")
    source = double_with("v * 2 + 1", "tl.maximum(v, 0.0)").replace(
        "        y = torch", "        x = x @ x.T\n        y = torch"
    )
    verdict = judge(mixed, source)
    assert verdict.outcome is Outcome.PASS and verdict.evidence["label"].startswith("partial")
    assert 0 < verdict.evidence["kernel_share"] < 1


def test_nested_outputs_integers_and_complex_inputs():
    tree = task("return {'a': x * 2, 'b': (x > 0, [x.long(), 3])}", "[torch.randn(300)]")
    source = double_with("v * 2 + 1", "v * 2").replace("return y", "return {'a': y, 'b': (x > 0, [x.long(), 3])}")
    assert judge(tree, source).outcome is Outcome.PASS
    assert judge(tree, source.replace("3]", "4]")).outcome is Outcome.WRONG
    whole = task("return x * 2 + 1", "[torch.randint(-9, 9, (300,))]")
    assert judge(whole, DOUBLE).outcome is Outcome.PASS
    assert judge(whole, double_with("v * 2", "v * 3")).outcome is Outcome.WRONG


def test_a_seed_replays_a_verdict_bit_for_bit():
    source = double_with("v * 2", "v * 2.001")
    first = judge(DOUBLE_TASK, source)
    with Verifier(device="cpu", workers=1) as other:
        again = next(other.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", source)], seed=first.seed))
    strip = lambda v: dataclasses.replace(v, seconds={})  # noqa: E731
    assert strip(first) == strip(again)
    assert judge(DOUBLE_TASK, source).seed != first.seed


def test_duplicates_are_judged_once_and_answered_each():
    same = [Candidate(DOUBLE_TASK.id, "triton", DOUBLE)] * 5
    seen = []
    verdicts = list(verifier().verify([DOUBLE_TASK], same, progress=lambda done, total, v: seen.append((done, total))))
    assert len(verdicts) == 5 and len({id(v) for v in verdicts}) == 1
    assert seen == [(i, 5) for i in range(1, 6)]


def test_usage_errors_are_one_sentence():
    with pytest.raises(ValueError, match="say strict or keck"):
        next(verifier().verify([DOUBLE_TASK], [], protocol="loose"))
    with pytest.raises(ValueError, match="not among the tasks"):
        next(verifier().verify([], [Candidate("nowhere", "triton", DOUBLE)]))
    with pytest.raises(ValueError, match="say auto, cpu or cuda:0"):
        resolve_device("tpu")


def test_cuda_on_a_machine_without_a_gpu_is_unsupported_or_does_not_compile():
    if torch.cuda.is_available():
        pytest.skip("has a GPU")
    verdict = next(verifier().verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "cuda", HEAD)]))
    assert verdict.outcome in (Outcome.UNSUPPORTED, Outcome.COMPILE_FAIL)


def test_a_task_source_that_is_not_python_is_invalid():
    bad = Task("this is not python")
    assert judge(bad, DOUBLE).outcome is Outcome.INVALID_TASK


def test_what_only_the_interpreter_takes_is_no_pass_and_what_cannot_be_followed_is_held_against_nobody():
    taken = judge(DOUBLE_TASK, DOUBLE)
    assert taken.passed and taken.evidence["front_end"] == "1 kernels"
    left_source = double_with("    tl.store(", "    for _ in range(3):\n        break\n    tl.store(")
    left = judge(DOUBLE_TASK, left_source)
    assert left.outcome == Outcome.COMPILE_FAIL and left.stage == "build", left
    assert "kernel double" in left.message and "`break`" in left.message and "front_end" in left.seconds
    first = "        double[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)\n"
    turned = f"        try:\n    {first}        except Exception:\n            y = x * 2 + 1\n"
    caught = left_source.replace(first, turned)
    assert "except Exception" in caught
    assert judge(DOUBLE_TASK, caught).outcome == Outcome.COMPILE_FAIL  # on a GPU the library would do the work
    values = double_with("y = torch.empty_like(x)", "y = torch.empty_like(x) if float(x[0]) < 1e30 else x")
    lost = judge(DOUBLE_TASK, values)
    assert lost.passed and lost.evidence["front_end"].startswith("not followed: "), lost


def test_a_kernel_launched_over_and_over_is_looked_at_a_few_times():
    often = double_with("        double[", "        for _ in range(300):\n            double[")
    verdict = judge(DOUBLE_TASK, often)
    assert verdict.passed and verdict.seconds["front_end"] < 5, verdict


def test_the_wide_probe_overflows_an_exponential_whatever_was_drawn():
    for seed in range(300):
        torch.manual_seed(seed)
        [wide] = next(iter(variants("wide", [torch.randn(10, 26)])))
        assert not torch.exp(wide).isfinite().all() and -257 < wide.min() < -127 < 127 < wide.max() < 257
    [one_sided] = next(iter(variants("wide", [torch.cat([torch.zeros(40), torch.rand(200) + 1])])))
    assert 127 < one_sided.max() < 129  # many zeros: scaled where it stands
