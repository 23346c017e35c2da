"""The judge's arithmetic: what counts as the same answer."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kzlib.verifier.compare import compare, loosely


def run(output, native, exact=None, bent=None):
    return compare(output, native, exact, bent)


@given(st.integers(1, 400), st.integers(0, 2**31), st.sampled_from([1e-30, 1e-6, 1.0, 1e6, 1e30]))
def test_the_native_answer_always_passes_at_every_scale(n, seed, scale):
    exact = torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
    assert run(exact.float(), exact.float(), exact) is None


@given(st.integers(2, 300), st.integers(0, 2**31), st.sampled_from([1e-20, 1e-6, 1.0, 1e20]))
def test_zeros_and_constants_never_pass_whatever_the_scale(n, seed, scale):
    exact = torch.randn(n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale
    native = exact.float()
    assert run(torch.zeros_like(native), native, exact) is not None
    assert run(torch.full_like(native, float(native.mean())), native, exact) is not None


def test_another_order_of_summation_passes_and_half_precision_does_not():
    a = torch.randn(64, 4096, dtype=torch.float64).float()
    b = torch.randn(4096, 32, dtype=torch.float64).float()
    exact, native = a.double() @ b.double(), a @ b
    sequential = torch.zeros(64, 32)
    for start in range(0, 4096, 16):  # 256 partial sums one after another, as a kernel with BLOCK_K = 16 does it
        sequential += a[:, start : start + 16] @ b[start : start + 16]
    assert run(sequential, native, exact) is None
    assert run((a.half().float() @ b.half().float()), native, exact) is not None
    assert run((a.bfloat16().float() @ b.bfloat16().float()), native, exact) is not None
    dropped = a.clone()
    dropped[:, -1] = 0  # one of 4096 terms left out
    assert run(dropped @ b, native, exact) is not None


def test_tf32_rounding_of_the_inputs_is_refused():
    a, b = torch.randn(64, 256), torch.randn(256, 64)
    cut = lambda x: (x.view(torch.int32) & ~0x1FFF).view(torch.float32)  # noqa: E731
    assert run(cut(a) @ cut(b), a @ b, a.double() @ b.double()) is not None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types_are_judged_by_their_own_epsilon(dtype):
    exact = torch.randn(500, dtype=torch.float64)
    assert run(exact.to(dtype), exact.to(dtype), exact) is None
    assert run((exact * 1.05).to(dtype), exact.to(dtype), exact) is not None


def test_one_wrong_element_among_a_million_fails():
    exact = torch.randn(1_000_000, dtype=torch.float64)
    output = exact.float()
    output[777_777] += 0.01
    found = run(output, exact.float(), exact)
    assert found is not None and "1 of 1000000" in found.reason


def test_whole_numbers_and_booleans_are_exact():
    native = torch.arange(10)
    assert run(native.clone(), native) is None
    assert run(native + (native == 3), native) is not None
    assert run(native.bool(), native.bool()) is None
    assert run(~native.bool(), native.bool()) is not None


def test_type_and_shape_are_part_of_the_answer():
    x = torch.ones(4)
    assert "type float64" in run(x.double(), x).reason
    assert "shape (1,)" in run(torch.ones(1), x).reason
    assert run(torch.ones(4, dtype=torch.int64), x) is not None
    assert run(1.0, x) is not None


def test_infinities_and_nan_must_stand_in_the_same_places():
    native = torch.tensor([1.0, math.inf, -math.inf, math.nan])
    assert run(native.clone(), native, native.double()) is None
    for wrong in (
        [1.0, -math.inf, -math.inf, math.nan],
        [1.0, math.inf, -math.inf, 0.0],
        [math.nan, math.inf, -math.inf, math.nan],
    ):
        assert run(torch.tensor(wrong), native, native.double()) is not None


def test_nested_outputs_complex_empty_and_scalars():
    a = torch.randn(5)
    tree = {"a": a, "b": [torch.empty(0, 3), (torch.tensor(2.0), 3, True, None)]}
    assert run({"a": a.clone(), "b": (torch.empty(0, 3), [torch.tensor(2.0), 3, True, None])}, tree) is None
    assert run({"a": a}, tree) is not None
    assert (
        "output['b'][1][1]" in run({"a": a, "b": [torch.empty(0, 3), (torch.tensor(2.0), 4, True, None)]}, tree).reason
    )
    z = torch.randn(6, dtype=torch.complex64)
    assert run(z.clone(), z, z.to(torch.complex128)) is None
    assert run(z.conj().resolve_conj(), z, z.to(torch.complex128)) is not None


def test_a_jump_at_one_element_opens_no_door_for_the_others():
    exact = torch.randn(1000, dtype=torch.float64)
    bent = exact.clone()
    bent[0] += 1.0  # a comparison flips there
    output = exact.float()
    output[5:10] += 0.5
    assert run(output, exact.float(), exact, bent) is not None


def test_an_ill_conditioned_problem_widens_its_own_budget_only_so_far():
    x = torch.randn(9, 70, dtype=torch.float64) * 0.001 + 0.5
    x = x.float()
    exact, native = x.double().var(1, unbiased=False), x.var(1, unbiased=False)
    bent = (x.double() * (1 + (torch.rand(9, 70, dtype=torch.float64) * 2 - 1) * 2.0**-23)).var(1, unbiased=False)
    by_difference = (x * x).mean(1) - x.mean(1) ** 2
    assert run(native, native, exact, bent) is None
    assert run(by_difference, native, exact, bent) is not None


def test_the_paper_check_lets_zeros_pass_where_strict_does_not():
    exact = torch.softmax(torch.randn(4, 16_000, dtype=torch.float64), -1)  # far below the tolerance of 0.01
    zeros = torch.zeros(4, 16_000)
    assert loosely(zeros, exact.float()) is None
    assert run(zeros, exact.float(), exact) is not None
