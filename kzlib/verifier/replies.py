"""What each child may answer: one form an event, checked where the answer enters, before anything reads a field.

A process that runs generated code may be written to by what it started, closed, or forged, so a missing or misshapen
field is that code's doing and never an error of the judge's own. Source: issue 3, items 1 and 4; DESIGN section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from kzlib.verifier import wire

Form = Callable[[Any], bool]


def _exactly(*kinds: type) -> Form:
    return lambda value: type(value) in kinds


def _many(form: Form) -> Form:
    return lambda value: isinstance(value, list | tuple) and all(map(form, value))


def _named(form: Form) -> Form:
    return lambda value: isinstance(value, dict) and all(type(k) is str and form(v) for k, v in value.items())


def _record(needed: dict[str, Form], also: dict[str, Form] | None = None) -> Form:
    """Every field of `needed`, and those of `also` that are there; others are not looked at."""

    def fits(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and form(value[name]) for name, form in needed.items())
            and all(form(value[name]) for name, form in (also or {}).items() if name in value)
        )

    return fits


def _or_none(form: Form) -> Form:
    return lambda value: value is None or form(value)


def _anything(value: Any) -> bool:
    return True


def _amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


def _flag(value: Any) -> bool:
    return type(value) is bool


def _tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _line(value: Any) -> bool:
    return value is None or (_many(_exactly(int, float))(value) and len(value) == 2)


_text, _whole = _exactly(str), _exactly(int)
_seconds = _named(_amount)
_op = _record(
    {"op": _text, "read": _amount, "written": _amount, "flops": _amount}, {"to_host": _amount, "to_device": _amount}
)
_launch = _record(
    {"name": _text, "programs": _amount, "loaded": _amount, "stored": _amount, "unique": _amount, "flops": _amount,
     "copy": _flag, "stores": _amount, "conflict": _text, "tuning": _flag},
    {"line": _line, "given": _flag},
)  # fmt: skip
_call = _record({"launches": _many(_launch), "ops": _many(_op), "corrupt": _flag}, {"watched": _flag})
_SET: dict[str, Form] = {
    "kind": _text, "inputs": _many(_anything), "native": _anything, "exact": _anything, "buffers": _named(_tensor),
    "mutated": _or_none(_many(_anything)), "bent": _anything,
}  # fmt: skip
_head = _record({
    "init": _anything, "init_seed": _whole, "noise_seed": _whole, "state": _named(_tensor), "training": _flag,
    "ops": _many(_op), "seconds": _seconds,
})  # fmt: skip
_need = _record(dict.fromkeys(("inputs", "outputs", "weights", "workspace"), _amount))


def _set(value: Any) -> bool:
    return _record(_SET)(value) and set(value) <= {"event", *_SET}


def _output(value: dict[str, Any]) -> bool:
    """An answer to a call, or why there is none."""
    if value.get("problem") is not None:
        return _record({"kind": _text, "message": _text})(value["problem"])
    return _record({
        "output": _anything, "inputs": _or_none(_many(_anything)), "buffers": _named(_tensor), "guards": _flag,
    })(value)  # fmt: skip


FORMS: dict[str, Form] = {
    # a candidate's
    "built": _record({"walls": _many(_text), "loose": _whole, "state": _named(_many(_whole))}),
    "state": _record({"unmatched": _many(_text), "mapping": _named(_text)}),
    "output": _output,
    "report": _record({
        "calls": _many(_call), "tampered": _many(_text), "threads": _whole, "flags": _many(_text), "seconds": _seconds,
    }),
    "watched": _record({"fault": _text, "message": _text, "copies": _flag, "fenced": _flag}),
    "timed": _record({"output": _anything, "device_us": _amount, "enqueue_us": _amount}),
    "front end": _record({"kernels": _whole, "refused": _text, "lost": _text}),
    "failed": _record({"stage": _text, "happened": _text, "kind": _text, "message": _text, "lines": _many(_text)}),
    # a reference's
    "reference": lambda value: (
        _head(value) and _record({"again": _anything, "sets": _many(_set)}, {"other": _or_none(_set)})(value)
    ),
    "head": lambda value: _head(value) and _record({"kinds": _many(_text), "need": _need})(value),
    "set": _set,
    "again": _record({"native": _anything}),
    "other": _record({"row": _or_none(_set)}),
    "broken": _record({"stage": _text, "kind": _text, "message": _text, "lines": _many(_text)}),
}  # fmt: skip


def checked(answer: Any, *events: str, **forms: str) -> dict[str, Any]:
    """The answer, if it is one of `events` and has that event's form; `wire.WireError` otherwise.

    `set="again"` says that an event "set" has the form of "again" here.

    >>> checked({"event": "built", "walls": [], "loose": 0, "state": {"w": (2, 3)}}, "built")["loose"]
    0
    >>> checked({"event": "output", "problem": None}, "output")
    Traceback (most recent call last):
    kzlib.verifier.wire.WireError: an answer 'output' of another form
    >>> checked({"event": "built"}, "output")
    Traceback (most recent call last):
    kzlib.verifier.wire.WireError: another answer than 'output'
    """
    event = answer.get("event") if isinstance(answer, dict) else None
    expected = {**{name: name for name in events}, **forms}
    if not isinstance(event, str) or event not in expected:
        raise wire.WireError(f"another answer than {' or '.join(map(repr, expected))}")
    if not FORMS[expected[event]](answer):
        raise wire.WireError(f"an answer {event!r} of another form")
    return answer
