"""CUDA extensions built beforehand: the lean headers must do what PyTorch's do, and a mistake must name its line."""

from __future__ import annotations

import dataclasses
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from kzlib.records import Candidate, Outcome
from kzlib.verifier import loader
from kzlib.verifier.build import BadRequest, Builder, BuildFailed, BuildTimeout, build_glue, compile_check, run_compiler
from kzlib.verifier.extension import Extension, inline_request
from kzlib.verifier.intercept import find, own_lines
from kzlib.verifier.store import Store
from kzlib.verifier.toolkit import ToolMissing, find_nvcc, toolkit

needs_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="needs nvcc")

DECLARATIONS = """
#include <vector>
#include <tuple>
#include <string>
torch::Tensor scaled_add(torch::Tensor a, torch::Tensor b, double alpha);
std::vector<torch::Tensor> views(const at::Tensor& a, std::vector<int64_t> sizes);
std::tuple<torch::Tensor, int64_t, std::string> mixed(at::Tensor a, c10::optional<at::Tensor> other, bool flag);
torch::Tensor library(torch::Tensor a, torch::Tensor b);
torch::Tensor halves(torch::Tensor a);
void fill(torch::Tensor& a, int value);
"""
DEFINITIONS = """
torch::Tensor scaled_add(torch::Tensor a, torch::Tensor b, double alpha) {
  TORCH_CHECK(a.sizes() == b.sizes(), "sizes differ: ", a.sizes(), " and ", b.sizes());
  auto out = torch::empty(a.sizes(), a.options());
  auto x = a.contiguous();
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "scaled_add", [&] {
    for (int64_t i = 0; i < a.numel(); ++i)
      out.data_ptr<scalar_t>()[i] = x.data_ptr<scalar_t>()[i] + scalar_t(alpha) * b.data_ptr<scalar_t>()[i];
  });
  return out;
}
std::vector<torch::Tensor> views(const at::Tensor& a, std::vector<int64_t> sizes) {
  return {a.view(sizes), torch::zeros({2, 3}, a.options().dtype(torch::kInt64))};
}
std::tuple<torch::Tensor, int64_t, std::string> mixed(at::Tensor a, c10::optional<at::Tensor> other, bool flag) {
  return {other.has_value() ? *other : a, a.size(-1), flag ? "yes" : "no"};
}
torch::Tensor library(torch::Tensor a, torch::Tensor b) {
  auto x = torch::matmul(a, b.t()).sum({0, 1}, true) + 1;
  auto top = std::get<0>(torch::max(a, 1));
  return (x * 2.0).to(torch::kFloat64).expand({2, -1}).reshape({-1}) - at::softmax(a, 1).mean() + top.slice(0, 0, 2);
}
torch::Tensor halves(torch::Tensor a) {
  auto out = torch::zeros_like(a);
  AT_DISPATCH_REDUCED_FLOATING_TYPES(a.scalar_type(), "halves", [&] {
    for (int64_t i = 0; i < a.numel(); ++i)
      out.data_ptr<scalar_t>()[i] = a.data_ptr<scalar_t>()[i] * scalar_t(0.5f) + 1;
  });
  return out;
}
void fill(torch::Tensor& a, int value) { for (int i = 0; i < a.numel(); ++i) a.data_ptr<int>()[i] = value; }
__global__ void never(float* x) { x[threadIdx.x] = 1.f; }
void launch(float* x) { never<<<1, 32>>>(x); }
"""
NAMES = ("scaled_add", "views", "mixed", "library", "halves", "fill")


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(Store(tmp_path_factory.mktemp("store")), seconds=120)


@pytest.fixture(scope="module")
def module(builder: Builder) -> types.ModuleType:
    extension = Extension((DECLARATIONS,), (DEFINITIONS,), tuple((n, n) for n in NAMES))
    built = builder.build(extension)
    assert built.kind == "lean"
    glue = loader.load_glue(build_glue(builder.store, builder.tools))
    return loader.load_library(glue, built.path, built.kind, "m")


@needs_nvcc
def test_lean_functions_compute_what_torch_computes(module: types.ModuleType) -> None:
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    torch.testing.assert_close(module.scaled_add(a, b, 2), a + 2 * b)
    torch.testing.assert_close(
        module.scaled_add(a.double().t(), b.double().t().contiguous(), 0.5), a.double().t() + 0.5 * b.double().t()
    )
    view, zeros = module.views(a, [4, 3])
    assert view.data_ptr() == a.data_ptr()
    assert zeros.dtype is torch.int64 and zeros.shape == (2, 3) and not zeros.any()
    assert module.mixed(a, None, True)[1:] == (4, "yes")
    assert module.mixed(a, b, False)[0] is b
    x = torch.matmul(a, b.t()).sum((0, 1), True) + 1
    expected = (x * 2.0).to(torch.float64).expand(2, -1).reshape(-1) - a.softmax(1).mean() + a.max(1).values[:2]
    torch.testing.assert_close(module.library(a, b), expected)
    whole = torch.zeros(5, dtype=torch.int32)
    assert module.fill(whole, 7) is None
    assert whole.tolist() == [7] * 5


@needs_nvcc
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_round_as_torch_does(module: types.ModuleType, dtype: torch.dtype) -> None:
    a = torch.randn(1000).to(dtype)
    assert torch.equal(module.halves(a), a * torch.tensor(0.5, dtype=dtype) + 1)


@needs_nvcc
def test_lean_functions_refuse_what_pybind_refuses(module: types.ModuleType) -> None:
    a = torch.randn(3, 4)
    with pytest.raises(RuntimeError, match=r"sizes differ: \[3, 4\] and \[2, 4\]"):
        module.scaled_add(a, a[:2], 1)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.scaled_add(a, 1, 2)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        module.scaled_add(a, a)
    with pytest.raises(RuntimeError, match="not implemented for 'Int'"):
        module.scaled_add(a.int(), a.int(), 1)
    with pytest.raises(RuntimeError, match="invalid for input of size 12"):
        module.views(a, [5])
    with pytest.raises(RuntimeError, match="expected scalar type Int but found Float"):
        module.fill(a, 1)


@needs_nvcc
def test_calls_leak_no_memory(module: types.ModuleType) -> None:
    import resource

    a = torch.randn(30, 40)
    for _ in range(2000):
        module.views(a, [40, 30])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        module.views(a, [40, 30])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8_000  # KiB


@needs_nvcc
def test_two_candidates_of_one_name_get_their_own_code(builder: Builder) -> None:
    glue = loader.load_glue(build_glue(builder.store, builder.tools))

    def made(number: int) -> types.ModuleType:
        source = f"int64_t plus(int64_t x) {{ return x + {number}; }}"
        request = inline_request({"name": "fused_op", "cpp_sources": source, "functions": ["plus"]})
        return loader.load_library(glue, builder.build(request).path, "lean", "fused_op")

    one, two = made(1), made(2)
    assert (one.plus(10), two.plus(10), one.plus(10)) == (11, 12, 11)


@needs_nvcc
def test_a_mistake_is_named_by_the_candidates_own_line(builder: Builder) -> None:
    code = '''import torch
from torch.utils.cpp_extension import load_inline
SOURCE = """
torch::Tensor f(torch::Tensor x) {
  int n = x.numel()
  return x;
}
"""
m = load_inline(name="m", cpp_sources="torch::Tensor f(torch::Tensor x);", cuda_sources=SOURCE, functions=["f"])
'''
    failed = compile_check(Candidate("t", "cuda", code), builder)
    assert failed is not None
    outcome, stage, message = failed
    assert (outcome, stage) == (Outcome.COMPILE_FAIL, "build")
    assert message.startswith("line 6: error:")  # where the semicolon is missed
    assert len(message.splitlines()) <= 5
    again = compile_check(Candidate("t", "cuda", code), builder)  # from the store, without a compiler
    assert again == failed


@needs_nvcc
def test_binding_what_was_never_declared_fails_as_in_torch(builder: Builder) -> None:
    kernel = "torch::Tensor f(torch::Tensor x) { return x; }"
    request = Extension(("",), (kernel,), (("f", "f"),))
    with pytest.raises(BuildFailed, match='identifier "f" is undefined'):
        builder.build(request)


@needs_nvcc
def test_eight_threads_build_one_extension_once(tmp_path: Path) -> None:
    builder = Builder(Store(tmp_path), seconds=120, full=False)
    request = Extension(("int64_t one() { return 1; }",), (), (("one", "one"),))
    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda _: builder.build(request), range(8)))
    assert len({b.path for b in built}) == 1
    assert builder.counts["lean"] == 1


@needs_nvcc
def test_a_compiler_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(BuildTimeout, match="still running after"):
        run_compiler(["sh", "-c", "sleep 60 & sleep 60"], tmp_path, 0.3)


@pytest.mark.parametrize(
    "flag", ["-o/etc/x", "-fplugin=evil.so", "-Xcompiler -wrapper,sh", "@/etc/passwd", "-ccbin=sh", "--keep"]
)
def test_flags_that_reach_outside_are_refused(flag: str) -> None:
    from kzlib.verifier.extension import checked_flags

    with pytest.raises(BadRequest, match="not allowed"):
        checked_flags([flag])


def test_no_compiler_is_our_fault_never_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kzlib.verifier.toolkit.find_nvcc", lambda: None)
    toolkit.cache_clear()
    try:
        with pytest.raises(ToolMissing, match="nvcc was not found"):
            toolkit("90")
        failed = compile_check(Candidate("t", "cuda", "import torch\n"), None)
        assert failed is not None and failed[0] is Outcome.INFRA
    finally:
        toolkit.cache_clear()


CASES = {
    "named and joined": ('A = "x"\nB = A + "y"\nm = load_inline("m", "c", B, functions=["f"])', ("xy",), True),
    "in a method": (
        'class M:\n  S = "src"\n  def f(self):\n    return load_inline(name="m", cpp_sources="c", cuda_sources=self.S)',
        ("src",),
        True,
    ),
    "f-string of a constant": (
        'N = 4\nm = load_inline(name=f"m{N}", cpp_sources="c", cuda_sources=f"int a[{N}];")',
        ("int a[4];",),
        True,
    ),
    "replaced": ('m = load_inline(name="m", cpp_sources="c", cuda_sources="a@b".replace("@", "-"))', ("a-b",), True),
    "set twice": ('S = "a"\nS = "b"\nm = load_inline(name="m", cpp_sources="c", cuda_sources=S)', (), False),
    "computed": ('m = load_inline(name="m", cpp_sources="c", cuda_sources=open("f").read())', (), False),
}


@pytest.mark.parametrize("name", CASES)
def test_sources_are_read_off_the_tree_or_not_guessed(name: str) -> None:
    code, cuda, complete = CASES[name]
    found = find("from torch.utils.cpp_extension import load_inline\n" + code)
    assert found.complete is complete
    assert tuple(s for e in found.extensions for s in e.cuda) == cuda


def test_an_alias_the_tree_does_not_show_is_not_called_complete() -> None:
    assert not find("import torch.utils.cpp_extension as c\nx = getattr(c, 'load_' + 'inline')('m', 's')").complete
    assert find("x = 1").complete


def test_line_numbers_are_left_alone_where_the_start_is_unknown() -> None:
    assert own_lines(["cuda_sources(3): error: x"], {}) == ["cuda_sources(3): error: x"]


def test_the_name_is_not_part_of_the_key() -> None:
    one = inline_request({"name": "a", "cpp_sources": "int f();"})
    two = inline_request({"name": "b", "cpp_sources": "int f();"})
    assert one.key == two.key
    assert dataclasses.replace(one, cuda_flags=("-O3",)).key != one.key
    assert Extension.from_json(one.to_json()) == one
