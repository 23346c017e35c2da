"""How much device memory a judgement needs, as arithmetic: what is resident together, on both sides, at worst.

Pure functions; `gpu_lanes.Memory` hands out what they ask for. Source: issue 4, item 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kzlib.verifier.compare import CHUNK
from kzlib.verifier.ops import FAMILY

CONTEXT = 700 << 20  # bytes a process's context, library workspaces and cache flusher take
ARENA = 64 << 20  # lent to every child before its job is known; half to read, half to answer
LARGE = 1 << 30  # one input set and its answer beyond this: two sets instead of four and no float64 run
RESIDENT = 2 << 30  # bytes of one task's input sets that stay with the judge, at least one set
UNKNOWN = 256 << 20
EXACT_FLOPS = 10**10  # of one call's convolutions: in float64 an H200 does 0.12 TFLOP/s of them, and a set takes three


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of one input set, of its answer, of the weights, and of what the reference holds in between."""

    inputs: int
    outputs: int
    weights: int
    workspace: int = 0

    @property
    def large(self) -> bool:
        """Too large for float64 and for four sets.

        >>> Need(1 << 20, 1 << 20, 0).large, Need(4 << 30, 4 << 30, 0).large
        (False, True)
        """
        return self.inputs + self.outputs + self.weights > LARGE

    @property
    def row(self) -> int:
        """Bytes of one resident set: inputs, native answer and, unless large, two answers in float64."""
        return self.inputs + self.outputs * (1 if self.large else 5)

    @staticmethod
    def read(told: Any) -> Need:
        """From a child's report; a guess where it reports nothing that can be believed."""
        names = ("inputs", "outputs", "weights", "workspace")
        if not isinstance(told, dict) or any(type(told.get(n)) is not int or told[n] < 0 for n in names):
            return Need(UNKNOWN, UNKNOWN, 0, 0)
        return Need(**{name: told[name] for name in names})


def reserve(need: Need) -> int:
    """Bytes a judgement may hold at its worst moment, contexts left out (they are counted once, in `standing`).

    Two moments count. While a set is fetched: the reference holds inputs in four forms, its answer and a copy; the
    block and the judge's own copy one row each; the candidate inputs, staged inputs, its answer and the block for it.
    While pairs are timed: the judge holds inputs and fresh contents; both sides inputs, staged inputs, three answers.

    >>> gib = 1 << 30
    >>> reserve(Need(4 * gib, 4 * gib, 0)) // gib  # a softmax over 4 GiB fits beside its reference
    58
    """
    wide = 1 if need.large else 4  # the float64 runs: weights and temporaries of twice the size, several at once
    reference = 4 * need.inputs * wide + 2 * need.outputs * wide + need.workspace * wide + need.weights * (2 + 2 * wide)
    candidate = 2 * need.inputs + 2 * need.outputs + need.workspace + 2 * need.weights
    rows = 2 * need.row if need.large else 2 * need.row + min(4 * need.row, max(RESIDENT, need.row))
    comparing = 32 * min(need.outputs, 4 * CHUNK)  # float64 temporaries of one piece
    fetching = reference + candidate + rows + comparing
    timed = 6 * need.inputs + 6 * need.outputs + 2 * need.workspace + 4 * need.weights
    return max(fetching, timed)


def exact_pays(ops: Iterable[Mapping[str, Any]]) -> bool:
    """False where float64 runs of a task would take minutes: a card's library has no fast convolution of that type.

    >>> exact_pays([{"op": "convolution", "flops": 10**9}, {"op": "mm", "flops": 10**13}])
    True
    >>> exact_pays([{"op": "convolution", "flops": 4 * 10**11}])
    False
    """
    return sum(row["flops"] for row in ops if FAMILY.get(row["op"], row["op"]) == "convolution") <= EXACT_FLOPS


def standing(workers: int, baselines: int, keep: int) -> int:
    """Bytes that are spoken for whatever is judged: contexts at work, ready and ending, and kept reference results."""
    return (2 * workers + baselines + 4) * (CONTEXT + ARENA) + keep
