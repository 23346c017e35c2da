"""Copies and straight lines between whole tensors: what is called a copy here ends an honest kernel's judgement."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.verifier.gpu_lines import differs, moved

NAN = float("nan")


def poisoned(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor as the watched call hands it out."""
    return torch.full(shape, NAN, dtype=dtype)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-8, 8).filter(lambda v: abs(v) > 0.01), st.floats(-8, 8), st.booleans())
def test_every_line_is_seen_through_every_order_of_axes(seed: int, slope: float, offset: float, turn: bool) -> None:
    x = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(seed))
    y = (x.permute(2, 0, 1) if turn else x).contiguous() * slope + offset
    found = moved([x, poisoned(*y.shape)], [x, y])
    assert found.changed == 1 and found.line == pytest.approx((slope, offset), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("function", ["relu", "tanh", "exp", "abs", "square", "floor"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_curve_is_no_line(function: str, dtype: torch.dtype) -> None:
    x = torch.randn(257).to(dtype)
    assert moved([x, poisoned(257, dtype=dtype)], [x, getattr(torch, function)(x)]).line is None


def test_sorting_reducing_and_adding_compute() -> None:
    x, z = torch.randn(16, 32), torch.randn(16, 32)
    for y in (x.sort(-1).values, x + z, x.cumsum(-1)):
        assert moved([x, z, poisoned(16, 32)], [x, z, y]).line is None
    assert moved([x, poisoned(16)], [x, x.amax(-1)]).line is None


def test_copies_of_slices_into_slices_and_in_place() -> None:
    x, out = torch.randn(8, 16), poisoned(8, 16)
    part = out.clone()
    part[2:4] = x[2:4]
    assert moved([x, out], [x, part]).line == (1.0, 0.0)  # some rows of as large a tensor
    assert moved([x, poisoned(16)], [x, x[3]]).line == (1.0, 0.0)  # a row of a larger one
    assert moved([x, poisoned(8)], [x, x[:, 5]]).line == (1.0, 0.0)
    wide = poisoned(8, 40)
    filled = wide.clone()
    filled[:, 8:24] = x
    assert moved([x, wide], [x, filled]).line == (1.0, 0.0)  # into a part of a larger one
    assert moved([x], [0.5 * x]).line == pytest.approx((0.5, 0.0))  # its own former contents


def test_constants_and_launches_that_change_nothing() -> None:
    x = torch.randn(64)
    assert moved([x, poisoned(64)], [x, torch.zeros(64)]).line == (0.0, 0.0)
    assert moved([x], [x]).changed == 0
    assert moved([x], [x], made=[x * 2]).line == pytest.approx((2.0, 0.0))  # returned anew by an extension


def test_values_that_happen_to_stand_there_already_are_stored_too() -> None:
    """In place, or over a pattern that is a number: what a launch leaves alone is part of its answer."""
    x, small = torch.randn(64), torch.randint(0, 256, (64,), dtype=torch.uint8)
    negative = torch.nn.functional.leaky_relu(x, 0.1)
    assert moved([x], [negative]).line is None and moved([x, x.clone()], [x, negative]).line is None
    assert moved([x], [x.relu()]).line is None and moved([x, torch.zeros(64)], [x, x.relu()]).line is None
    saturated, pattern = (small.int() + 40).clamp(max=255).to(torch.uint8), torch.full((64,), 255, dtype=torch.uint8)
    assert moved([small, pattern], [small, saturated]).line is None
    positive, pattern = x > 0, torch.ones(64, dtype=torch.bool)
    assert moved([x, pattern], [x, positive]).line is None
    scalar = torch.tensor(2.0)
    assert moved([scalar, torch.tensor(NAN)], [scalar, scalar]).line == (1.0, 0.0)


def test_one_tensor_that_computes_is_enough() -> None:
    x = torch.randn(64)
    assert moved([x, poisoned(64), poisoned(64)], [x, x.clone(), x.exp()]).line is None


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int64, torch.float16, torch.float64, torch.complex128])
def test_what_changed_is_told_by_bits(dtype: torch.dtype) -> None:
    old = torch.zeros(3, 2, dtype=dtype)
    new = old.clone()
    new[1, 0] = 1
    assert differs(old, new).tolist() == [False, False, True, False, False, False]
    assert not differs(old.t(), old.t().clone()).any()


def test_what_a_call_fetches_from_the_device_is_told_and_a_flag_is_not() -> None:
    """No rule rests on it: a reader of the verdict sees that the host took part."""
    from kzlib.verifier.evidence import judge_evidence
    from kzlib.verifier.gpu_launches import launch_facts

    def evidence(elements: int) -> dict[str, object]:
        op = {"op": "_to_copy", "read": 0, "written": 0, "flops": 0, "to_host": elements}
        call = {"launches": [launch_facts("k", 8)], "ops": [op], "corrupt": False}
        report = {"calls": [call], "tampered": [], "threads": 0, "flags": []}
        return judge_evidence(report, [], True).facts

    assert evidence(4096)["elements_to_host"] == 4096
    assert "elements_to_host" not in evidence(1)


def test_functions_of_an_extension_are_looked_at_where_they_launch() -> None:
    """As a library of C++ whose counter of launches moves when its function launches a kernel."""
    import ctypes
    from types import SimpleNamespace

    from kzlib.verifier.evidence import only_lines
    from kzlib.verifier.gpu_launches import Launches, watched_facts
    from kzlib.verifier.gpu_watch import Watch

    launches, library = Launches(), SimpleNamespace(count=ctypes.c_longlong(0))

    def launching(x: torch.Tensor, function: str) -> torch.Tensor:
        library.count.value += 1
        return getattr(torch, function)(x)

    launches._counter = lambda _: library.count  # type: ignore[method-assign]
    copies = launches._function("run", launching, library)  # type: ignore[arg-type]
    idle = launches._function("idle", lambda x: x * 2, library)  # type: ignore[arg-type]
    for function, straight in (("clone", True), ("tanh", False)):
        launches.watching = Watch(lambda: None, lambda: False)
        x = torch.randn(99)
        assert torch.equal(copies(x, function), getattr(torch, function)(x)) and idle(x).numel() == 99
        rows = watched_facts(launches.watching)
        assert [row["name"] for row in rows] == ["run"] and only_lines(rows) is straight
    launches.watching = None
    assert copies(torch.zeros(3), "exp").tolist() == [1.0, 1.0, 1.0]
