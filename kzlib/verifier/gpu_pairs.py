"""Timed pairs on a GPU: baseline and candidate in turn, fresh contents under the same pointers, outputs checked.

Runs in the judge. Each side is another process with a context of its own; the judge owns inputs and outputs of both.
Source: issue 4, item 4; DESIGN section 6, points 2 and 7; verifiers.md A1-A31, B15-B19.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from kzlib.verifier import timing
from kzlib.verifier.children import tensors_of
from kzlib.verifier.gpu_wire import Lender

CHUNK = 1 << 26
TICK_US = 0.1  # device events do not tell shorter times apart
# Allowed difference of two native results of the same contents, in epsilons of the type; stale ones differ more.
_EPSILON = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
_FACTOR = {torch.float16: 16.0, torch.bfloat16: 16.0}


class StaleAnswer(Exception):  # noqa: N818 - control flow of the judgement
    """A timed call whose output is not the answer to that call's inputs."""

    def __init__(self, call: int, share: float) -> None:
        super().__init__(f"timed call {call}: {share:.1%} of the output does not answer that call's inputs")
        self.call = call
        self.share = share


@dataclass(frozen=True, slots=True)
class Trait:
    """What new contents of a tensor must keep: places of its zeros (a mask, a triangle), whole numbers (labels)."""

    places: bool
    whole: bool

    @staticmethod
    def of(tensor: torch.Tensor) -> Trait:
        """Looked at piece by piece: a mask of a whole large tensor would be memory that nobody planned for."""
        pieces = tensor.reshape(-1).split(CHUNK) if tensor.numel() else ()
        zeros = sum(int((piece == 0).sum()) for piece in pieces)
        whole = not (tensor.is_floating_point() or tensor.is_complex())
        if tensor.is_floating_point():
            whole = all(bool((piece == piece.round()).all()) for piece in pieces)
        return Trait(zeros * 20 > tensor.numel(), whole)


def refreshed(value: Any, source: Any, random_state: random.Random, traits: Iterator[Trait] | None = None) -> Any:
    """Write new contents over `value` from `source`, rolled along the first axis and scaled; returns `value`.

    Whole numbers and booleans are rolled only. A tensor with many zeros (a mask, a triangle) is scaled only, by one of
    many factors, so that its structure stays.
    """
    if isinstance(value, torch.Tensor):
        trait = next(traits) if traits is not None else Trait.of(source)
        if not value.numel() or not value.dim():
            return value.copy_(source)
        rows = source.shape[0]
        shift = random_state.randrange(rows) if rows > 1 else 0
        factor = 1.0 if trait.whole else random_state.uniform(0.5, 1.0)
        shift = 0 if trait.places else shift
        for there, here in ((value[shift:], source[: rows - shift]), (value[:shift], source[rows - shift :])):
            if trait.whole:
                there.copy_(here)
            else:
                torch.mul(here, factor, out=there)
        return value
    if isinstance(value, list | tuple):
        return type(value)([refreshed(v, s, random_state, traits) for v, s in zip(value, source, strict=True)])
    if isinstance(value, dict):
        return {k: refreshed(v, source[k], random_state, traits) for k, v in value.items()}
    return value


def disagreement(output: Any, expected: Any, loosen: float) -> float:
    """Share of elements of two output trees that are further apart than rounding explains; 1.0 for another form."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(output, torch.Tensor) or output.shape != expected.shape or output.dtype != expected.dtype:
            return 1.0
        return _tensor_disagreement(output.to(expected.device), expected, loosen)
    if isinstance(expected, list | tuple):
        if not isinstance(output, list | tuple) or len(output) != len(expected):
            return 1.0
        return max((disagreement(o, e, loosen) for o, e in zip(output, expected, strict=True)), default=0.0)
    if isinstance(expected, dict):
        if not isinstance(output, dict) or output.keys() != expected.keys():
            return 1.0
        return max((disagreement(output[k], expected[k], loosen) for k in expected), default=0.0)
    return 0.0 if type(output) is type(expected) else 1.0


def _tensor_disagreement(output: torch.Tensor, expected: torch.Tensor, loosen: float) -> float:
    if not expected.numel():
        return 0.0
    if not expected.is_floating_point():
        return (
            float((output != expected).float().mean())
            if not expected.is_complex()
            else _tensor_disagreement(
                torch.view_as_real(output.resolve_conj()), torch.view_as_real(expected.resolve_conj()), loosen
            )
        )
    epsilon = _EPSILON.get(expected.dtype, 2.0**-3) * _FACTOR.get(expected.dtype, 2048.0) * loosen
    out, near = output.reshape(-1), expected.reshape(-1)
    bad = torch.zeros((), dtype=torch.int64, device=expected.device)
    for start in range(0, near.numel(), CHUNK):
        one, two = out[start : start + CHUNK].float(), near[start : start + CHUNK].float()
        scale = torch.where(torch.isfinite(two), two, 0).square().mean().sqrt()
        far = (one - two).abs() > epsilon * (two.abs() + scale)
        bad += (far | (torch.isfinite(one) != torch.isfinite(two))).sum()
    return float(bad) / near.numel()


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Threads of other judgements hand over within a fraction of a millisecond: the device waits for this one."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, 5e-4))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Pairs:
    """Collects timed pairs for one candidate against its reference."""

    def __init__(
        self,
        baseline: Lender,
        candidate: Lender,
        inputs: list[Any],
        seed: int,
        answer: Callable[[Lender, Any], dict[str, Any]],
        loosen: float = 1.0,
        seconds: float = 2.0,
    ) -> None:
        self.sides = {"baseline": baseline, "candidate": candidate}
        self.inputs = inputs
        self.contents = _empty_like(inputs)
        self.traits = [Trait.of(tensor) for tensor in tensors_of(inputs)]
        self.random = random.Random(seed)  # noqa: S311 - derived from the judgement's secret seed
        self.answer = answer
        self.loosen = loosen
        self.seconds = seconds
        self.samples: list[timing.Sample] = []
        self.checked = 0

    def collect(self) -> list[timing.Sample]:
        """Warm up, then pairs in random order until the speedup is known well enough or time is up."""
        with _quick_turns():
            for _ in range(2):
                self._pair(settle=True)
            self.samples.clear()
            start = time.monotonic()
            while not timing.enough(self.samples):
                self._pair(settle=False)
                if time.monotonic() - start > self.seconds and len(self.samples) >= 3:
                    break
        return self.samples

    def _pair(self, settle: bool) -> None:
        contents = refreshed(self.contents, self.inputs, self.random, iter(self.traits))
        order = ["baseline", "candidate"]
        if self.random.random() < 0.5:
            order.reverse()
        rows: dict[str, tuple[dict[str, Any], float]] = {}
        for side in order:
            rows[side] = self._timed(self.sides[side], contents, settle)
        (base, base_wall), (mine, mine_wall) = rows["baseline"], rows["candidate"]
        share = disagreement(mine["output"], base["output"], self.loosen)
        self.checked += 1
        if share > 0.001:
            raise StaleAnswer(self.checked, share)
        mine_us, base_us = (max(row["device_us"], TICK_US) for row in (mine, base))
        self.samples.append(timing.Sample(mine_us, base_us, mine_wall, base_wall))

    def _timed(self, side: Lender, contents: Any, settle: bool) -> tuple[dict[str, Any], float]:
        side.send({"inputs": contents, "time": True, "settle": settle})
        start = time.perf_counter()
        row = self.answer(side, contents)
        return row, (time.perf_counter() - start) * 1e6


def _empty_like(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_like(value)
    if isinstance(value, list | tuple):
        return type(value)([_empty_like(v) for v in value])
    if isinstance(value, dict):
        return {k: _empty_like(v) for k, v in value.items()}
    return value
