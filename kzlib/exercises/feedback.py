"""What a checker says, and how it asks a reader's function without being stopped by it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal


class NotAttempted(Exception):  # noqa: N818  a state of an exercise, not a failure
    """The stub is as it was."""


class Wrong(Exception):  # noqa: N818
    """One sentence about what is wrong with an answer."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A checker's answer; `print` shows it as one line."""

    exercise: str
    state: Literal["not attempted", "wrong", "right"]
    sentence: str

    def __str__(self) -> str:
        if self.state == "not attempted":
            return f"not attempted yet: {self.exercise}, {self.sentence}"
        return f"{'right' if self.state == 'right' else 'not yet'} ({self.exercise}): {self.sentence}"


def is_open(answer: Any) -> bool:
    """Is the answer still the stub's `...`, or a table that holds nothing else?

    >>> is_open(...), is_open({"a": ...}), is_open({"a": True, "b": ...})
    (True, True, False)
    """
    if isinstance(answer, Mapping):
        answer = list(answer.values())
    if isinstance(answer, list | tuple):
        return bool(answer) and all(item is ... for item in answer)
    return answer is ...


def ask(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's value for a copy of the arguments; arrays and tensors come as plain lists and numbers.

    >>> import torch
    >>> ask(lambda x: [torch.tensor(x) + 1], 1)
    [2]
    """
    try:
        value = function(*copy.deepcopy(arguments))
    except Exception as error:  # noqa: BLE001  a reader's function may raise anything; it is told, not hidden
        shown = ", ".join(map(brief, arguments))
        raise Wrong(f"it stops with {type(error).__name__}: {error}, when called with ({shown})") from None
    if is_open(value):
        raise NotAttempted
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    return value.tolist() if hasattr(value, "tolist") else value


def require(condition: bool, sentence: str) -> None:
    """Raise `Wrong` with the sentence unless the condition holds."""
    if not condition:
        raise Wrong(sentence)


def close(found: Any, wanted: Any) -> bool:
    """Equal up to rounding, item by item; None only equals None, and text is no number.

    >>> close([0.1 + 0.2, None], [0.3, None]), close(None, 0.0), close("1", 1)
    (True, False, False)
    """
    if isinstance(wanted, list | tuple):
        if not isinstance(found, Sequence) or isinstance(found, str) or len(found) != len(wanted):
            return False
        return all(close(f, w) for f, w in zip(found, wanted, strict=True))
    if wanted is None or isinstance(wanted, str) or not isinstance(found, Real):
        return found is wanted if wanted is None else found == wanted
    return math.isclose(found, wanted, rel_tol=1e-4, abs_tol=1e-6)


def numbers(found: Any, count: int | None, sentence: str) -> list[float]:
    """The numbers in a reader's list; anything else is `Wrong` with the sentence. `count` None allows any length.

    >>> numbers((1, 2.5), 2, "return two numbers")
    [1, 2.5]
    """
    if not isinstance(found, Sequence | set) or not all(isinstance(item, Real) for item in found):
        raise Wrong(sentence)
    if count is not None and len(found) != count:
        raise Wrong(sentence)
    return list(found)


def brief(value: Any) -> str:
    """A value as short text for a sentence.

    >>> brief([1.0, 1 / 3])
    '[1.0, 0.3333]'
    """
    if isinstance(value, float):
        return str(round(value, 4))
    if isinstance(value, list | tuple):
        inner = ", ".join(map(brief, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    text = repr(value)
    return text if len(text) < 160 else f"{text[:157]}..."


def predictions(answer: Any, truth: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """A table of predictions against the truth: the first wrong or missing one is named with its reason.

    >>> predictions({"a": True}, {"a": False}, {"a": "think of a"})
    Traceback (most recent call last):
    ...
    kzlib.exercises.feedback.Wrong: for "a", True is not what happens: think of a
    """
    if not isinstance(answer, Mapping) or set(answer) != set(truth):
        raise Wrong(f"give a dict with the keys {', '.join(truth)}, as in the stub")
    still = [key for key, value in answer.items() if value is ...]
    require(not still, f"{', '.join(still)} still to predict")
    wrong = [key for key in truth if answer[key] != truth[key]]
    if wrong:
        more = f" ({len(wrong)} of {len(truth)} to look at again)" if len(wrong) > 1 else ""
        raise Wrong(f'for "{wrong[0]}", {answer[wrong[0]]} is not what happens: {reasons[wrong[0]]}{more}')
