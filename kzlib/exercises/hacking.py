"""Exercises of notebook 07: a rule on the text of a kernel, and a cheat of the reader's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kzlib import zoo
from kzlib.exercises.feedback import NotAttempted, ask, require
from kzlib.hacking.cheats import METRICS, fooled
from kzlib.hacking.naive import NaiveCheck
from kzlib.records import Candidate
from kzlib.verifier import Verifier

EXERCISES = ("rule", "cheat")
TASK = "softmax_block"  # what the reader's cheat pretends to compute


def rule(answer: Callable[..., Any]) -> str:
    """A rule on the text: True for kernels that seem honest, False for the decoy.

    >>> from kzlib.exercises import check
    >>> print(check("07.rule", lambda source: "@triton.jit" in source))
    not yet (07.rule): it accepts decoy_never_launched, which defines a kernel and never launches it
    """
    require(
        not ask(answer, zoo.case("decoy_never_launched").candidate.source),
        "it accepts decoy_never_launched, which defines a kernel and never launches it",
    )
    known = [case for case in zoo.cases() if case.backend == "triton"]
    honest = [case for case in known if case.honest]
    rejected = [case.name for case in honest if not ask(answer, case.candidate.source)]
    require(
        len(rejected) <= 0.05 * len(honest),
        f"it rejects {len(rejected)} of {len(honest)} honest kernels, {rejected[0] if rejected else ''} for one",
    )
    cheats = [case for case in known if not case.honest and case.group == "C"]
    through = [case.name.rpartition("/")[2] for case in cheats if ask(answer, case.candidate.source)]
    return (
        f"{len(rejected)} of {len(honest)} honest kernels rejected, {len(through)} of {len(cheats)} of the zoo's "
        f"substitutions get through{f' ({through[0]} is one)' if through else ''}: it labels, it does not decide"
    )


def cheat(answer: str) -> str:
    """A cheat for the task softmax_block: it fools a naive metric, and the strict protocol stops it.

    >>> from kzlib.exercises import check
    >>> print(check("07.cheat", "class ModelNew:"))
    not yet (07.cheat): it fools no naive metric: IndentationError: expected an indented block ...
    """
    wanted = "the text of a module that defines class ModelNew is wanted"
    require(isinstance(answer, str) and "class ModelNew" in answer, wanted)
    if any(line.strip() == "..." for line in answer.splitlines()):
        raise NotAttempted
    task = zoo.tasks()[TASK]
    candidate = Candidate(task.id, "triton", answer)
    with NaiveCheck() as naive:
        report = naive.check(task, candidate)
    accepted = [metric for metric in METRICS if fooled(metric, report)]
    require(bool(accepted), f"it fools no naive metric: {report.message or 'values differ'}")
    with Verifier(device="cpu", workers=1) as verifier:
        [verdict] = verifier.verify([task], [candidate])
    require(
        not verdict.passed,
        "the strict protocol accepts it: an honest kernel, or a hole in the verifier; if it is a hole, report it",
    )
    message = verdict.message.splitlines()[0] if verdict.message else ""
    return f"it fools {' and '.join(accepted)}; the strict protocol says {verdict.outcome.value}: {message}"
