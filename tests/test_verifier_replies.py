"""A process that answers in another form costs its own candidate a verdict, and never the others theirs: on the CPU and
on a simulated GPU, every field of every answer left out or replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kzlib.records import Candidate, Outcome, Task
from kzlib.verifier import Verifier, gpu_wire, judge, pool, replies, wire
from tests.test_gpu_simulated import RIGHT, TASK, answer, simulated  # noqa: F401 - a fixture
from tests.verifier_support import DOUBLE, DOUBLE_TASK

FIELDS = {
    "built": ("walls", "loose", "state"),
    "state": ("unmatched", "mapping"),
    "output": ("output", "inputs", "buffers", "guards"),
    "report": ("calls", "tampered", "threads", "flags", "seconds"),
}
EVENTS = [(event, field) for event, fields in FIELDS.items() for field in ("event", *fields)]
LAUNCH = {"name": "k", "programs": 1, "loaded": 4, "stored": 4, "unique": 4, "flops": 0, "copy": False, "stores": 1,
          "conflict": "", "tuning": False, "line": (1.0, 0.0)}  # fmt: skip
CALL = {"launches": [LAUNCH], "ops": [{"op": "add", "read": 4, "written": 4, "flops": 1}], "corrupt": False}
GOOD: dict[str, dict[str, Any]] = {
    "built": {"walls": ["limits"], "loose": 0, "state": {"w": [2, 3]}},
    "state": {"unmatched": [], "loose": 0, "extra": [], "mapping": {"w": "w"}},
    "output": {"output": torch.zeros(2), "inputs": None, "buffers": {}, "guards": True, "problem": None},
    "report": {"calls": [CALL], "tampered": [], "threads": 0, "flags": [], "seconds": {"run": 0.1}},
    "timed": {"output": torch.zeros(2), "device_us": 3.0, "enqueue_us": 2.0},
    "failed": {"stage": "run", "happened": "exception", "kind": "E", "message": "", "lines": []},
}
NEEDED = {"state": ("unmatched", "mapping"), "output": ("output", "inputs", "buffers", "guards")}


def spoiled(monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], Any]) -> None:
    """What candidates' processes say reaches the judge changed."""
    honest = pool.Child.receive

    def receive(self: pool.Child, seconds: float, limit: int = 1 << 40) -> Any:
        message = honest(self, seconds, limit)
        if isinstance(message, dict):
            inner = message.get("tree", message)
            if isinstance(inner, dict):
                change(inner)
        return message

    monkeypatch.setattr(pool.Child, "receive", receive)


def without(event: str, field: str, value: Any = None) -> Callable[[dict[str, Any]], None]:
    def change(message: dict[str, Any]) -> None:
        if message.get("event") == event:
            if value is None:
                message.pop(field)
            else:
                message[field] = value

    return change


def every_fault(verifier: Verifier, task: Task, candidate: Callable[[int], Candidate]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for number, (event, field) in enumerate(EVENTS):
        for value in (None, {"another": ["form"]}) if field not in ("output", "state") else (None,):
            with pytest.MonkeyPatch.context() as patch:
                spoiled(patch, without(event, field, value))
                (verdict,) = verifier.verify([task], [candidate(number)], seed=3)
                found[f"{event}.{field} {value}"] = verdict.outcome
    return found


@pytest.fixture(scope="module")
def on_cpu() -> Iterator[Verifier]:
    with Verifier(device="cpu", workers=1) as verifier:
        yield verifier


def test_every_missing_or_misshapen_field_is_the_candidates_own_outcome_on_the_cpu(on_cpu: Verifier) -> None:
    found = every_fault(on_cpu, DOUBLE_TASK, lambda n: Candidate(DOUBLE_TASK.id, "triton", DOUBLE + f"\n# {n}"))
    assert set(found.values()) == {Outcome.CHEAT}, found
    assert next(on_cpu.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", DOUBLE)], seed=3)).passed


def test_every_missing_or_misshapen_field_is_the_candidates_own_outcome_on_a_gpu(simulated: Verifier) -> None:  # noqa: F811
    found = every_fault(simulated, TASK, lambda n: answer(RIGHT + f"  # {n}"))
    assert set(found.values()) == {Outcome.CHEAT}, found
    assert next(simulated.verify([TASK], [answer(RIGHT)], seed=3)).passed


FORGED = [
    'c.GpuSession.call = lambda self, request: {"problem": None}',
    "c.GpuSession.report = lambda self: {}",
    'c.GpuSession.load_state = lambda self, state, training: {"event": "output", "problem": None}',
    "c.timed_call = lambda *a: {}",
    'c.timed_call = lambda *a: {"output": None, "device_us": float("nan"), "enqueue_us": 1.0}',
    "c.GpuSession.failure = lambda self, error: {}; c.GpuSession.call = lambda self, request: self._stage('run', 1)",
    # as when copies of a process, made by the candidate, all say that they are built
    "import os, socket; s = socket.socket(fileno=os.dup(20)); built = {'event': 'built', 'walls': [], 'loose': 0, "
    "'state': {'scale': [64]}}; [c.wire.send(s, {'tree': built, 'bytes': 0, 'stored': False}) for _ in range(3)]",
]


def test_forged_answers_of_a_process_end_its_own_judgement_only(simulated: Verifier) -> None:  # noqa: F811
    head = "import sys\nc = sys.modules['kzlib.verifier.gpu_candidate']\n"
    bad = {Candidate(TASK.id, "cuda", f"{head}{line}\n{answer(RIGHT).source}").id: line for line in FORGED}
    candidates = [Candidate(TASK.id, "cuda", f"{head}{line}\n{answer(RIGHT).source}") for line in FORGED]
    verdicts = {v.candidate_id: v for v in simulated.verify([TASK], [*candidates, answer(RIGHT)])}
    assert verdicts.pop(answer(RIGHT).id).passed
    found = {bad[key]: (v.outcome, v.message) for key, v in verdicts.items()}
    assert len(found) == len(FORGED) and {o for o, _ in found.values()} == {Outcome.CHEAT}, found


def test_a_copy_of_a_process_that_would_speak_ends_instead() -> None:
    borrower = gpu_wire.Borrower.__new__(gpu_wire.Borrower)

    def leave(code: int) -> None:
        raise SystemExit(code)

    borrower._process, borrower._leave = (lambda: 2, 1), leave
    for step in (borrower.receive, lambda: borrower.send({})):
        with pytest.raises(SystemExit):
            step()


def test_a_reference_that_answers_in_another_form_is_an_invalid_task(on_cpu: Verifier) -> None:
    with pytest.MonkeyPatch.context() as patch:
        spoiled(patch, without("reference", "state"))
        (verdict,) = on_cpu.verify([DOUBLE_TASK], [Candidate(DOUBLE_TASK.id, "triton", DOUBLE)], seed=4)
    assert verdict.outcome is Outcome.INVALID_TASK and "another form" in verdict.message


def test_an_error_of_the_judges_own_is_one_infra_verdict_that_says_where(on_cpu: Verifier) -> None:
    honest = judge.compare

    def compare(output: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(output, torch.Tensor) and bool((output == 12345).any()):
            raise ZeroDivisionError("by nought")
        return honest(output, *rest, **named)

    odd = DOUBLE.replace("return y", "return torch.full_like(y, 12345)")
    candidates = [Candidate(DOUBLE_TASK.id, "triton", s) for s in (DOUBLE, odd, DOUBLE + "\n# 2")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "compare", compare)
        verdicts = {v.candidate_id: v for v in on_cpu.verify([DOUBLE_TASK], candidates)}
        assert len(verdicts) == 3
        patch.setattr(on_cpu.judge, "check", lambda task, seed: {}["nothing"])
        (check,) = on_cpu.check([DOUBLE_TASK])
    bad = verdicts.pop(candidates[1].id)
    assert bad.outcome is Outcome.INFRA and not bad.judged
    assert bad.evidence["error"] == "ZeroDivisionError" and "(compare)" in bad.evidence["place"]
    assert bad.evidence["text"] == "by nought" and all(v.passed for v in verdicts.values())
    assert not check.ok and "KeyError" in check.message


def test_a_run_with_spoiled_stores_may_crash_and_the_rest_is_asked_of_another_process(simulated: Verifier) -> None:  # noqa: F811
    """As kernels that make indices do: without their kernel the indices are nonsense."""
    source = answer(RIGHT).source.replace("y = torch.empty_like(x)", "y = torch.full_like(x, float('nan'))")
    for end in ("assert not torch.isnan(y).any()", "import os; torch.isnan(y).any() and os._exit(9)"):
        crashes = source.replace("return y", f"{end}\n        return y")
        (verdict,) = simulated.verify([TASK], [Candidate(TASK.id, "cuda", crashes)])
        assert verdict.passed and verdict.timing is not None, verdict
        assert verdict.evidence["other_shape"]["right"] is True


def test_a_process_on_a_gpu_starts_compilers_and_no_copies_of_itself(simulated: Verifier) -> None:  # noqa: F811
    code = """import os, subprocess
try:
    os.fork()
except OSError:
    pass
else:
    raise SystemExit('forked')
open('a.c', 'w').write('int f(void) { return 3; }')
subprocess.run(['cc', '-shared', '-fPIC', '-o', 'a.so', 'a.c'], check=True)
import ctypes
assert ctypes.CDLL(os.path.abspath('a.so')).f() == 3
"""
    walls = simulated.protections()
    (verdict,) = simulated.verify([TASK], [Candidate(TASK.id, "cuda", code + answer(RIGHT).source)])
    assert verdict.passed or "system calls" not in walls, verdict


@pytest.mark.parametrize("event", GOOD)
def test_what_children_say_passes_and_every_field_less_does_not(event: str) -> None:
    good = {"event": event, **GOOD[event]}
    assert replies.checked(good, event) is good
    for field in NEEDED.get(event, tuple(GOOD[event])):
        with pytest.raises(wire.WireError):
            replies.checked({k: v for k, v in good.items() if k != field}, event)


def test_times_are_finite_and_not_negative() -> None:
    for wrong in (math.nan, math.inf, -1.0, True, "3"):
        with pytest.raises(wire.WireError):
            replies.checked({"event": "timed", **GOOD["timed"], "device_us": wrong}, "timed")


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(replies.FORMS)), st.data())
def test_any_tree_is_taken_or_refused_and_nothing_else(event: str, data: st.DataObject) -> None:
    names = sorted({name for row in GOOD.values() for name in row})
    value = data.draw(TREES | st.dictionaries(st.sampled_from(names), TREES).map(lambda row: {**row, "event": event}))
    try:
        replies.checked(value, event)
    except wire.WireError as error:
        assert "answer" in str(error)
