"""One candidate, one verdict: drive a candidate's process, compare its bytes, read the evidence, name the outcome.

The judge owns seeds, expected values and verdicts. Subclasses for other devices override the few methods under
"what a device decides". Source: issue 3; DESIGN section 6.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from kzlib.records import Candidate, Outcome, Task, Timing, Verdict
from kzlib.verifier import guard, replies, wire
from kzlib.verifier.affine import same_line
from kzlib.verifier.check import TaskCheck, check_reference
from kzlib.verifier.children import tensors_of
from kzlib.verifier.compare import Mismatch, compare, loosely
from kzlib.verifier.evidence import conflict, judge_evidence
from kzlib.verifier.gpu_lines import moved
from kzlib.verifier.model import modelled
from kzlib.verifier.pool import Child, ForkServer, ServerDied
from kzlib.verifier.protocols import STRICT, Protocol
from kzlib.verifier.references import Broken, InputSet, Reference, References, _size, other_shape

MAX_MESSAGE_LINES = 5
STRAIGHT = 1 << 24  # elements of an answer that is looked at; larger ones are taken for no line
SLACK = 8 << 20


class Ended(Exception):  # noqa: N818 - control flow inside one judgement
    """The judgement is over with this outcome."""

    def __init__(self, outcome: Outcome, stage: str, message: str, **evidence: Any) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.stage = stage
        self.evidence = evidence


class _Crashed(Exception):  # noqa: N818 - control flow inside one judgement
    """All is well so far, and the run with spoiled stores ended the candidate's process."""

    def __init__(self, reference: Reference, report: dict[str, Any]) -> None:
        super().__init__("the run with spoiled stores ended the process")
        self.reference, self.report = reference, report


@dataclass
class Job:
    """Working state of one judgement."""

    task: Task
    candidate: Candidate
    protocol: Protocol
    seed: int
    seconds: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, Any] = field(default_factory=dict)
    last_set: int = 0  # number of the set that the candidate was called on last

    def spend(self, name: str, start: float) -> None:
        """Add the time since `start` to a stage."""
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 6)


J = TypeVar("J", bound=Job)


class Judge(Generic[J]):
    """Judges on the CPU's Triton interpreter. Thread-safe: it keeps no state of a job."""

    where = "cpu-interpreter"
    entry = "kzlib.verifier.candidate:main"
    job_type: type[Any] = Job
    precision = "ieee"  # of library products on both sides; runs under another one do not compare

    def __init__(
        self, server: Callable[[], ForkServer], references: References | None = None,
        front_end: Callable[[], ForkServer] | None = None,
    ) -> None:  # fmt: skip
        self.server, self.front_end = server, front_end
        self.references = references or References()
        self._checking: dict[int, threading.Lock] = {}

    # --- what a device decides --------------------------------------------------------------------------------------

    def refuse(self, job: J) -> None:
        """Raise `Ended` when this device cannot run the candidate at all."""
        if job.candidate.backend != "triton":
            raise Ended(*self._compile_only(job.candidate))

    @staticmethod
    def _compile_only(candidate: Candidate) -> tuple[Outcome, str, str]:
        try:
            from kzlib.verifier import build
        except ImportError:
            return Outcome.UNSUPPORTED, "build", "CUDA needs a GPU; here it was not even compiled"
        failed = build.compile_check(candidate)
        if failed is not None:
            return failed
        return Outcome.UNSUPPORTED, "run", "CUDA needs a GPU; the code compiles"

    def job_request(self, job: J, reference: Reference) -> dict[str, Any]:
        """The first message to a candidate's process."""
        return {
            "source": job.candidate.source, "entries": list(job.protocol.entries), "init": reference.init,
            "init_seed": reference.init_seed, "noise_seed": reference.noise_seed, "shake": job.protocol.shake,
            "guard": job.protocol.evidence,
        }  # fmt: skip

    def timing(self, job: J, reference: Reference, report: dict[str, Any], child: Child) -> Timing | None:
        """How fast it was. On a CPU: modelled from counted launches and bytes of the last honest call."""
        honest = [call for call in report["calls"] if not call["corrupt"]]
        return modelled(reference.ops, honest[-1]["launches"], honest[-1]["ops"]) if honest else None

    def compiles(self, job: J) -> None:
        """Raise `Ended` when Triton's compiler refuses a kernel that gave right values in the interpreter."""
        if self.front_end is None:
            return
        start = time.perf_counter()
        with self.front_end().fork("kzlib.verifier.front_end:main") as child:
            try:
                child.send({"candidate": job.candidate.source, "task": job.task.source,
                            "entries": list(job.protocol.entries)})  # fmt: skip
                told = replies.checked(child.receive(job.protocol.load_seconds, SLACK), "front end")
            except (wire.WireError, wire.Deadline) as error:
                told = {"kernels": 0, "refused": "", "lost": type(error).__name__}
        job.spend("front_end", start)
        job.evidence["front_end"] = f"not followed: {told['lost']}" if told["lost"] else f"{told['kernels']} kernels"
        if told["refused"]:
            raise Ended(Outcome.COMPILE_FAIL, "build", told["refused"], front_end="refused")

    @contextmanager
    def fresh(self) -> Iterator[Child]:
        """A process for one candidate, ended afterwards."""
        with self.server().fork(self.entry) as child:
            yield child

    def prepare(self, task: Task, protocol: Protocol, seed: int) -> None:
        """Candidates of this task are next; a device may begin with its reference."""

    def expect(self, count: int) -> None:
        """So many judgements are to come; a device may prepare for them."""

    def close(self) -> None:
        """Let go of what is kept between judgements."""

    # --- the judgement ----------------------------------------------------------------------------------------------

    def verdict(self, task: Task, candidate: Candidate, protocol: Protocol, seed: int, attempts: int = 3) -> Verdict:
        """One verdict; failures of our own machinery are retried `attempts` times, then named `infra`."""
        job: J = self.job_type(task, candidate, protocol, seed, evidence={"precision": self.precision})
        start = time.perf_counter()
        try:
            for attempt in range(attempts):
                try:
                    timing = self._judge(job, last=attempt == attempts - 1)
                    ended = Ended(Outcome.PASS, "done", _shape_note(job.evidence.get("other_shape")))
                    break
                except ServerDied as error:
                    reason = str(error)
            else:
                timing, ended = None, Ended(Outcome.INFRA, "run", f"the verifier's own process failed: {reason}")
        except Ended as error:
            timing, ended = None, error
            # Its frames hold the reference's tensors, and this frame holds it: a cycle that the collector finds late.
            error.__traceback__ = error.__context__ = None
        except (OSError, MemoryError) as error:
            timing, ended = None, Ended(Outcome.INFRA, "run", f"this machine failed: {type(error).__name__}: {error}")
        except Exception as error:  # noqa: BLE001 - one candidate's verdict, never the end of the others'
            told = fault(error)
            message = f"the verifier failed: {told['error']} in {told['place']}: {told['text']}"
            timing, ended = None, Ended(Outcome.INFRA, "run", message, **told)
        job.spend("total", start)
        message = "\n".join(str(ended).splitlines()[:MAX_MESSAGE_LINES])
        return Verdict(
            task.id, candidate.id, candidate.backend, ended.outcome, ended.stage, self.where, protocol.name, message,
            {**job.evidence, **ended.evidence}, timing, job.seconds, seed,
        )  # fmt: skip

    def reference(self, job: J, shake_state: bool) -> Reference:
        """The reference of a job's task, checked; `Ended` with invalid_task otherwise."""
        start = time.perf_counter()
        reference = self.references.get(self.server(), job.task, job.seed, job.protocol, shake_state)
        if isinstance(reference, Broken):
            raise Ended(Outcome.INVALID_TASK, "task", f"{reference.gate}: {reference.message}", gate=reference.gate)
        if job.protocol.checks_task:
            check = self._check(job.task, reference)
            if not check.ok:
                raise Ended(Outcome.INVALID_TASK, "task", f"{check.gate}: {check.message}", gate=check.gate)
        job.spend("reference", start)
        return reference

    def check(self, task: Task, seed: int) -> TaskCheck:
        """Whether a task's reference can be checked. `ServerDied` if our own machinery failed."""
        return check_reference(task.id, self.references.get(self.server(), task, seed, STRICT, True))

    def _check(self, task: Task, reference: Reference) -> TaskCheck:
        """Whether the task can be checked: found once a reference, and the others wait for that."""
        with self._checking.setdefault(id(reference), threading.Lock()):
            if "check" not in reference.extra:  # kept there, so that nothing here outlives a reference let go
                reference.extra["check"] = check_reference(task.id, reference)
        self._checking.pop(id(reference), None)
        return reference.extra["check"]

    def _judge(self, job: J, last: bool) -> Timing | None:
        self.refuse(job)
        reference = self.reference(job, shake_state=True)
        try:
            timing = self._with_child(job, last, partial(self._talk, job, reference))
        except _Crashed as crashed:
            timing = self._with_child(job, last, partial(self._resume, job, crashed.reference, crashed.report))
        self.compiles(job)
        return timing

    def _with_child(self, job: J, last: bool, step: Callable[[Child], Timing | None]) -> Timing | None:
        """A step with a fresh process; how that ends, where it ends by itself, is the candidate's outcome."""
        start = time.perf_counter()
        with self.fresh() as child:
            job.spend("fork", start)
            try:
                return step(child)
            except wire.Closed:
                end = child.wait()
                if end.signal == "SIGKILL" and not end.killed_by_us and not last:
                    raise ServerDied("a child was killed from outside") from None
                if end.code == guard.EXIT_CODE:
                    raise Ended(Outcome.CHEAT, "run", "the code reached into the process that watches it") from None
                how = (
                    f"was killed by {end.signal}"
                    if end.signal
                    else f"ended with exit code {end.code} before it answered"
                )
                raise Ended(Outcome.RUNTIME_FAIL, "run", f"the candidate's process {how}") from None
            except wire.WireError as error:
                raise Ended(Outcome.CHEAT, "run", f"the candidate's process spoke out of turn: {error}") from None

    def _talk(self, job: J, reference: Reference, child: Child) -> Timing | None:
        built = self._load(job, reference, child)
        reference = self._with_state(job, reference, child, built)
        for index in range(len(reference.sets)):
            row = reference.sets[index]
            answer = self._call(job, child, row, corrupt=False)
            job.last_set = index
            mismatch = self._differs(job, row, answer)
            if mismatch:
                note = self._later_calls(job, reference, child, index)
                raise Ended(
                    Outcome.WRONG, "compare", note + mismatch.reason, inputs=row.kind, call=index, **mismatch.figures
                )
            del row, answer  # a large task has room for one set at a time
        report = self._report(job, reference, child)
        self._note_walls(job, built, report)
        if job.protocol.evidence:
            launched = any(call["launches"] for call in report["calls"])
            changed = self._corruption(job, reference, child) if launched else None
            self._weigh(job, reference, report, changed)
            if not child.alive:
                raise _Crashed(reference, report)
        return self._finish(job, reference, report, child)

    def _report(self, job: J, reference: Reference, child: Child) -> dict[str, Any]:
        """The child's facts about its calls."""
        child.send({"report": True})
        return self._answer(job, child, job.protocol.run_seconds, SLACK, "evidence", "report")

    def _resume(self, job: J, reference: Reference, report: dict[str, Any], child: Child) -> Timing | None:
        """What is left once the run with spoiled stores has ended a process, as it may: in another one."""
        reference = self._with_state(job, reference, child, self._load(job, reference, child))
        self._call(job, child, reference.sets[0], corrupt=False)
        return self._finish(job, reference, report, child)

    def _finish(self, job: J, reference: Reference, report: dict[str, Any], child: Child) -> Timing | None:
        start = time.perf_counter()
        timing = self.timing(job, reference, report, child)
        job.spend("time", start)
        if job.protocol.other_shape:
            self._elsewhere(job, reference, child)
        return timing

    def _elsewhere(self, job: J, reference: Reference, child: Child) -> None:
        """Is it right at another shape too? A kernel may be made for the one shape of its task, so this is told and no
        more. Last of all, because a crash here ends the process."""
        row = other_shape(reference)
        if row is None:
            return
        start = time.perf_counter()
        try:
            found = self._differs(job, row, self._call(job, child, row, corrupt=False))
            said = found.reason if found else ""
        except (Ended, wire.WireError) as error:
            if isinstance(error, wire.Closed) and child.wait().code == guard.EXIT_CODE:
                raise
            said = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        job.spend("other_shape", start)
        shapes = [list(t.shape) for t in tensors_of(row.inputs)]
        job.evidence["other_shape"] = {"shapes": shapes, "right": not said, **({"what": said} if said else {})}

    def _load(self, job: J, reference: Reference, child: Child) -> dict[str, Any]:
        start = time.perf_counter()
        child.send(self.job_request(job, reference))
        built = self._answer(job, child, job.protocol.load_seconds, SLACK, "build", "built")
        job.spend("load", start)
        return built

    def _with_state(self, job: J, reference: Reference, child: Child, built: dict[str, Any]) -> Reference:
        """Send the weights. Prepared or unplaced ones can only be right as both sides drew them: those it is."""
        placed = placeable(built["state"], reference.state)
        if job.protocol.name == "keck" and set(built["state"]) != set(reference.state):
            return reference
        if job.protocol.shake and (built["loose"] or not placed):
            reference = self.reference(job, shake_state=False)
            job.evidence["weights"] = "as initialised" if placed else "as initialised, not all placed"
        start = time.perf_counter()
        child.send({"state": reference.state, "training": reference.training})
        self._answer(job, child, job.protocol.run_seconds, SLACK, "build", "state")
        job.spend("load", start)
        return reference

    def _call(self, job: J, child: Child, row: InputSet, corrupt: bool) -> dict[str, Any]:
        start = time.perf_counter()
        child.send({"inputs": row.inputs, "corrupt": corrupt})
        limit = 4 * _size([row.native, row.inputs, row.buffers]) + SLACK
        try:
            answer = self._answer(job, child, job.protocol.run_seconds, limit, "run", "output")
        finally:
            job.spend("corrupted_run" if corrupt else "run", start)
        problem = answer.get("problem")
        if problem:
            outcome = Outcome.WRONG if problem["kind"] == "type" else Outcome.CHEAT
            raise Ended(outcome, "compare", problem["message"])
        return answer

    def _answer(self, job: J, child: Child, seconds: float, limit: int, stage: str, event: str) -> dict[str, Any]:
        """The child's next message, which must be this event, or the end of the judgement."""
        try:
            answer = child.receive(seconds, limit)
        except wire.Deadline:
            child.kill()
            raise Ended(Outcome.TIMEOUT, stage, f"no answer within {seconds:.0f} s") from None
        answer = replies.checked(answer, event, "failed")
        if answer["event"] == "failed":
            raise failure(answer)
        return answer

    def _differs(self, job: J, row: InputSet, answer: dict[str, Any]) -> Mismatch | None:
        start = time.perf_counter()
        try:
            if job.protocol.name == "keck":
                return loosely(answer["output"], row.native)
            if not answer["guards"]:
                return Mismatch("the code wrote outside its inputs' memory", {})
            return self._all_equal(row, answer)
        finally:
            job.spend("compare", start)

    @staticmethod
    def _all_equal(row: InputSet, answer: dict[str, Any]) -> Mismatch | None:
        found = compare(answer["output"], row.native, row.exact, row.bent, kept=row.yards)
        if found:
            return found
        if row.mutated is None and answer["inputs"] is not None:
            return Mismatch("the code changes its inputs, the reference does not", {})
        if row.mutated is not None:
            after = answer["inputs"] if answer["inputs"] is not None else row.inputs
            found = compare(after, row.mutated, None, path="the changed inputs")
            if found:
                return found
        theirs = answer["buffers"]
        pairs = ((k, theirs[k], v) for k, v in row.buffers.items() if k in theirs)
        return next((m for k, a, b in pairs if (m := compare(a, b, None, path=f"buffer {k} after the call"))), None)

    def _later_calls(self, job: J, reference: Reference, child: Child, index: int) -> str:
        """After a wrong first call: is a second one right? (Autotuning on the real buffers spoils only the first.)"""
        if index or job.protocol.name == "keck" or len(reference.sets) < 2:
            return ""
        try:
            second = self._call(job, child, reference.sets[1], corrupt=False)
        except (Ended, wire.WireError):
            return ""
        return "first call differs from later ones: " if self._differs(job, reference.sets[1], second) is None else ""

    def _corruption(self, job: J, reference: Reference, child: Child) -> bool:
        """Does spoiling every store of its own kernels change the answer? A crash of that run is a change too.

        Asked on another set than the last one: an output buffer that is kept holds that one's answer.
        """
        row = reference.sets[0 if job.last_set else min(1, len(reference.sets) - 1)]
        try:
            answer = self._call(job, child, row, corrupt=True)
        except (Ended, wire.WireError):
            if child.wait().code == guard.EXIT_CODE:
                raise
            return True
        return self._differs(job, row, answer) is not None

    def _note_walls(self, job: J, built: dict[str, Any], report: dict[str, Any]) -> None:
        job.evidence["walls"] = built.get("walls", [])
        for name, value in report.get("seconds", {}).items():
            job.seconds[f"child_{name}"] = round(value, 6)

    @staticmethod
    def _weigh(job: J, reference: Reference, report: dict[str, Any], changed: bool | None) -> None:
        race = conflict(report)
        finding = judge_evidence(report, reference.ops, changed, lambda: straight(reference))
        job.evidence.update(finding.facts)
        if finding.outcome is not Outcome.PASS:
            raise Ended(finding.outcome, "evidence", finding.message)
        if race:
            raise Ended(Outcome.WRONG, "evidence", race, race=True)


def straight(reference: Reference) -> bool:
    """True when the expected answers are, in every set, one and the same straight line of an input."""
    first = None
    for row in reference.sets:
        answers = list(tensors_of(row.native))
        if not answers or sum(t.numel() for t in answers) > STRAIGHT:
            return False
        inputs = [t.to(answers[0].device) for t in tensors_of(row.inputs)]
        found = moved(inputs, inputs, answers).line
        first = first or found
        if found is None or first is None or not same_line(found, first):
            return False
    return True


def fault(error: BaseException) -> dict[str, str]:
    """What an error of our own was and where, for the evidence.

    >>> fault(KeyError("output"))
    {'error': 'KeyError', 'place': 'nowhere', 'text': "'output'"}
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(f.filename).name}:{f.lineno} ({f.name})" for f in frames[-2:]]
    return {"error": type(error).__name__, "place": " > ".join(places) or "nowhere", "text": str(error)[:300]}


def _shape_note(other: dict[str, Any] | None) -> str:
    """What a passing verdict says about another shape.

    >>> _shape_note({"shapes": [[9, 8]], "right": False, "what": "..."})
    'right at the shape of its task, not at 9x8'
    """
    if other is None:
        return ""
    size = ", ".join("x".join(map(str, shape)) for shape in other["shapes"])
    return f"right at {size} too" if other["right"] else f"right at the shape of its task, not at {size}"


def placeable(shapes: dict[str, list[int]], state: dict[str, Any]) -> bool:
    """True when every weight of the reference finds a place: by name and shape, else by shape.

    >>> import torch
    >>> placeable({"linear.w": [2, 3]}, {"w": torch.zeros(2, 3)}), placeable({}, {"w": torch.zeros(1)})
    (True, False)
    """
    free = {name: list(shape) for name, shape in shapes.items()}
    rest = []
    for name, value in state.items():
        if free.get(name) == list(value.shape):
            del free[name]
        else:
            rest.append(list(value.shape))
    for shape in rest:
        match = next((n for n, s in free.items() if s == shape), None)
        if match is None:
            return False
        del free[match]
    return True


def failure(answer: dict[str, Any]) -> Ended:
    """What a candidate's failure means: decided by stage and kind of event, never by words of a message."""
    stage, happened = answer["stage"], answer["happened"]
    text = (
        f"{answer['kind']}: {answer['message']}"
        if happened not in ("bounds", "assert", "unsupported")
        else answer["message"]
    )
    message = "\n".join([text.splitlines()[0] if text else answer["kind"], *answer["lines"]])
    if happened == "unsupported":
        return Ended(Outcome.UNSUPPORTED, "run", message)
    if happened == "kernel" or (stage == "load" and happened == "exception"):
        return Ended(Outcome.COMPILE_FAIL, "build", message, error=answer["kind"])
    if stage == "output":
        return Ended(Outcome.WRONG, "compare", message)
    return Ended(
        Outcome.RUNTIME_FAIL,
        "run",
        message,
        error=answer["kind"],
        **({"fault": happened} if happened != "exception" else {}),
    )
