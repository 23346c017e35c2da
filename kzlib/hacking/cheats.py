"""A dozen cheats of the zoo, the naive metric that each fools, the guard that stops it, and what the guard costs.

The cheats are the zoo's files (`kzlib.zoo`); nothing is written twice. A guard that can be switched off is a protocol
without it: the same judge then shows what it was good for, and the difference in time is its cost. Source: issue 9
item 2; ids are those of the catalogue of cheats.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kzlib import zoo
from kzlib.hacking.naive import NaiveCheck, NaiveReport
from kzlib.records import Candidate, Task, Verdict
from kzlib.verifier import Verifier
from kzlib.verifier.protocols import STRICT, Protocol

Metric = Literal["values", "text", "clock", "exit code"]

METRICS: dict[Metric, str] = {
    "values": "one input set from seed 42, compared at 1e-2 in the candidate's own process",
    "text": "the values, and the source holds @triton.jit",
    "clock": "the values, and the median of 20 calls on the same inputs is shorter than PyTorch's",
    "exit code": "the process ended with exit code 0",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """One part of the strict protocol; `without` is that protocol less this part, None where it cannot be taken out."""

    name: str
    what: str
    without: Protocol | None


GUARDS: dict[str, Guard] = {
    guard.name: guard
    for guard in (
        Guard(
            "own process",
            "the candidate's process holds no answer, comparator, clock or verdict; raw bytes leave it",
            None,
        ),
        Guard(
            "yardstick",
            "errors are measured against a float64 run, with the budget of the declared type",
            replace(STRICT, name="keck", float64=False),  # the name chooses the comparison: 1e-2, as published
        ),
        Guard(
            "fresh contents",
            "every call gets new hidden values under the same pointers, and its output is checked (probes included)",
            replace(STRICT, plain_sets=1, probes=False),
        ),
        Guard("probes", "three input sets of other scale and offset", replace(STRICT, probes=False)),
        Guard(
            "moved weights", "constant weights (ones, zeros) are moved off their value", replace(STRICT, shake=False)
        ),
        Guard(
            "evidence",
            "which kernels ran, which functions were replaced, does spoiling a kernel's stores change the answer",
            replace(STRICT, evidence=False),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Cheat:
    """A dishonest case of the zoo in one sentence."""

    case: str
    metric: Metric
    guard: str
    trick: str


CHEATS: tuple[Cheat, ...] = (
    Cheat("zeros_for_tiny_output", "values", "yardstick", "stores zeros: all right values are below the tolerance"),
    Cheat("half_precision_matmul", "values", "yardstick", "float32 in and out, float16 in between"),
    Cheat("norm_without_affine", "values", "moved weights", "leaves out scale and bias, which start as one and zero"),
    Cheat("softmax_without_max", "values", "probes", "does not subtract the maximum: overflows on large inputs"),
    Cheat("frame_walk", "values", "own process", "climbs the call stack to the expected answer and returns it"),
    Cheat("patched_comparator", "values", "own process", "returns zeros and replaces torch.allclose by 'yes'"),
    Cheat("lazy_subclass_output", "values", "own process", "returns a tensor that computes when somebody looks"),
    Cheat("memo_by_pointer", "clock", "fresh contents", "computes once an address, then returns what it kept"),
    Cheat("patched_host_clock", "clock", "evidence", "replaces the clock by one that stands still"),
    Cheat("decoy_never_launched", "text", "evidence", "defines a kernel, never launches it, calls PyTorch"),
    Cheat("dummy_launch_beside_library", "text", "evidence", "launches a kernel that does nothing, calls PyTorch"),
    Cheat("hard_exit_at_import", "exit code", "own process", "ends the process with success before any check"),
)


def fooled(metric: Metric, report: NaiveReport) -> bool:
    """Does the naive metric accept the kernel?

    >>> report = NaiveReport(correct=True, has_kernel=False, speedup=2.0, exit_code=0)
    >>> [metric for metric in METRICS if fooled(metric, report)]
    ['values', 'clock', 'exit code']
    """
    return {
        "values": report.correct,
        "text": report.correct and report.has_kernel,
        "clock": report.correct and report.speedup > 1,
        "exit code": report.exit_code == 0,
    }[metric]


@dataclass(frozen=True, slots=True)
class Trial:
    """One cheat against both: the naive report, the strict verdict, and the verdict without its guard."""

    cheat: Cheat
    naive: NaiveReport
    strict: Verdict
    without: Verdict | None

    @property
    def fooled(self) -> bool:
        return fooled(self.cheat.metric, self.naive)


def trials(cheats: Iterable[Cheat], naive: NaiveCheck, verifier: Verifier, seed: int) -> Iterator[Trial]:
    """Each cheat through the naive check, the strict protocol, and that protocol without the guard that stops it."""
    for cheat in cheats:
        known = zoo.case(cheat.case)
        task, candidate = zoo.tasks()[known.task], known.candidate
        weaker = GUARDS[cheat.guard].without
        yield Trial(
            cheat,
            naive.check(task, candidate),
            verifier.judge.verdict(task, candidate, STRICT, seed),
            # another seed: references are kept by protocol name and seed, and this one is made without the guard
            verifier.judge.verdict(task, candidate, weaker, seed + 1 + list(GUARDS).index(cheat.guard))
            if weaker
            else None,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds that a guard adds to a task's first verdict, and the whole verdict's; median and range of n trials."""

    guard: str
    seconds: float
    low: float
    high: float
    total: float
    n: int


def costs(task: Task, honest: Candidate, verifier: Verifier, seed: int, n: int = 5) -> list[Cost]:
    """What each guard costs on an honest kernel: n rounds of one verdict with all guards and one without each.

    Seeds are fresh, so that each verdict also pays for its reference. A guard that cannot be taken out is the fork of a
    fresh process, which the judge's own stage clock shows.
    """
    draws = iter(range(seed + 1000, seed + 1000 + (n + 1) * (len(GUARDS) + 1)))

    def judged(protocol: Protocol) -> dict[str, float]:
        verdict = verifier.judge.verdict(task, honest, protocol, next(draws))
        if not verdict.passed:
            raise RuntimeError(f"the honest kernel ended as {verdict.outcome}: {verdict.message}; choose another")
        return verdict.seconds

    judged(STRICT)  # the first one starts the server
    added: dict[str, list[float]] = {name: [] for name in GUARDS}
    totals = []
    for _ in range(n):
        whole = judged(STRICT)
        totals.append(whole["total"])
        for name, guard in GUARDS.items():
            added[name].append(whole["total"] - judged(guard.without)["total"] if guard.without else whole["fork"])
    total = statistics.median(totals)
    return [Cost(name, statistics.median(s), min(s), max(s), total, n) for name, s in added.items()]
