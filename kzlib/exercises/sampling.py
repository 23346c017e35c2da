"""Exercises of notebook 01: an exact API set, a smoothed conditional, and which gate stops a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kzlib.exercises.feedback import NotAttempted, Wrong, ask, brief, close, numbers, predictions, require
from kzlib.records import Task
from kzlib.validity import GATES, check_text

EXERCISES = ("forward", "conditional", "gates")
ASKED = ("torch.matmul", "torch.nn.functional.relu")

MODULE = """import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):
    def forward(self, x, y):
        return {body}

def get_inputs():
    return [torch.randn(32, 64), torch.randn(32, 64)]

def get_init_inputs():
    return []
"""

# Each body goes into MODULE; asked for: torch.exp and torch.sum. A test runs them through the verifier's gates.
GATE_CASES = {
    "torch.sum(torch.exp(x), dim=1) + y[:, 0]": ("valid", "it is finite, repeatable, and both inputs count"),
    "(x + y).exp().sum(dim=1)": ("valid", "x.exp() and torch.exp(x) are one name, and + is no API of the catalogue"),
    "torch.exp(x).sum(dim=1)": ("unused_input", "forward takes y: does any output depend on it?"),
    "torch.sum(torch.sigmoid(x) * torch.exp(y), dim=1)": (
        "api_set",
        "compare the names it uses with the two asked for",
    ),
    "torch.sum(torch.exp(x @ y.T))": ("api_set", "@ has a name in the catalogue"),
    "torch.exp(500 * x).sum(dim=1) + y[:, 0]": ("finite", "how large is exp(500) in float32?"),
    "torch.sum(torch.exp(x) + y[:, :32], dim=1)": ("runs", "do the two shapes broadcast?"),
}


def forward(answer: Any) -> str:
    """A module that uses exactly torch.matmul and relu.

    >>> from kzlib.exercises import check
    >>> print(check("01.forward", MODULE.format(body="torch.relu(x)")))
    not yet (01.forward): gate api_set: it lacks torch.matmul
    """
    require(isinstance(answer, str), "give the module's source as one text")
    if "return ..." in answer:
        raise NotAttempted
    found = check_text(Task(answer), ASKED)
    require(found.valid, f"gate {found.gate}: {found.message}")
    return "exactly the two APIs, and every input is used; the text gates let it through"


def conditional(answer: Callable[..., Any]) -> str:
    """P(j | i), the chance of a second API given the first.

    >>> from kzlib.exercises import check
    >>> print(check("01.conditional", lambda c, q, s: [x / sum(c) for x in c]))
    not yet (01.conditional): a pair never seen has chance 0: without lambda * q_j it could never be drawn
    """
    c, q, s = [30, 10, 0], [0.5, 0.3, 0.2], 20
    found = numbers(ask(answer, c, q, s), 3, "return a list with one number for each API j")
    require(found[2] != 0, "a pair never seen has chance 0: without lambda * q_j it could never be drawn")
    require(close(sum(found), 1.0), f"chances add up to 1; yours add up to {brief(sum(found))}")
    truth = _conditional(c, q, s)
    require(close(found, truth), f"for c = {c}, q = {q}, lambda = {s} it is {brief(truth)}, yours is {brief(found)}")
    bare = ask(answer, [0, 0, 0], q, s)
    require(close(bare, q), "an API seen with nothing falls back on the tempered marginal q")
    require(close(ask(answer, c, q, 0), _conditional(c, q, 0)), "with lambda = 0 it is the plain share of the counts")
    return "counts lead where there are many, q where there are few"


def _conditional(c: Sequence[float], q: Sequence[float], s: float) -> list[float]:
    return [(c_j + s * q_j) / (sum(c) + s) for c_j, q_j in zip(c, q, strict=True)]


def gates(answer: Any) -> str:
    """Which gate stops each of the seven modules.

    >>> from kzlib.exercises import check
    >>> print(check("01.gates", {**{body: gate for body, (gate, _) in GATE_CASES.items()}, "x": "valid"}))
    not yet (01.gates): give a dict with the keys ..., as in the stub
    """
    if isinstance(answer, dict):
        for value in answer.values():
            if value is not ... and value != "valid" and value not in GATES:
                raise Wrong(f'"{value}" is no gate: say "valid" or one of {", ".join(GATES)}')
    truth = {body: gate for body, (gate, _) in GATE_CASES.items()}
    predictions(answer, truth, {body: reason for body, (_, reason) in GATE_CASES.items()})
    return "text gates come first and cost nothing; the rest run in a child process"
