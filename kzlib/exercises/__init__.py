"""Exercises of the notebooks: `check("03.reward", answer)` says in words what is wrong with an answer.

A checker compares with the library's own functions, never with a typed-in solution where the library has one. A stub
left alone is "not attempted yet"; nothing here raises, so a notebook with open exercises runs to its end. Solutions
are in `notebooks/solutions/`. Source: issue 9.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from kzlib.exercises.feedback import Feedback, NotAttempted, Wrong, is_open

LESSONS = {
    "01": "sampling",
    "02": "cold_start",
    "03": "frontier",
    "04": "ca_grpo",
    "05": "evaluation",
    "06": "intervals",
    "07": "hacking",
}


def names(lesson: str) -> tuple[str, ...]:
    """The exercises of a lesson, in their order.

    >>> names("03")
    ('03.reward', '03.mean_correctness', '03.rewards_of_k')
    """
    return tuple(f"{lesson}.{name}" for name in _module(lesson).EXERCISES)


def check(name: str, answer: Any) -> Feedback:
    """Judge one answer: a function, a text or a table of predictions, as the exercise asks for.

    >>> print(check("03.reward", lambda p, valid, rho: ...))
    not attempted yet: 03.reward, the frontier reward of one module
    >>> print(check("03.reward", lambda p, valid, rho: 1 - p))
    not yet (03.reward): an invalid module earns rho, whatever p is; for p = 0.5, rho = -1.0 yours gives 0.5
    """
    lesson, _, short = name.partition(".")
    if lesson not in LESSONS or name not in names(lesson):
        known = ", ".join(names(lesson)) if lesson in LESSONS else ", ".join(f"{number}.*" for number in LESSONS)
        raise ValueError(f"there is no exercise {name}: name one of {known}")
    checker = getattr(_module(lesson), short)
    asks = (checker.__doc__ or "").splitlines()[0].rstrip(".")
    try:
        if is_open(answer):
            raise NotAttempted
        return Feedback(name, "right", checker(answer))
    except NotAttempted:
        return Feedback(name, "not attempted", asks[:1].lower() + asks[1:])
    except Wrong as sentence:
        return Feedback(name, "wrong", str(sentence))


def _module(lesson: str) -> ModuleType:
    """A lesson's checkers; imported late, because those of CA-GRPO need TRL."""
    return import_module(f"kzlib.exercises.{LESSONS[lesson]}")
