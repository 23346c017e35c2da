"""Kernel bench: pick a kernel of the zoo, or edit one; the verdict names the kernel's own lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from kzlib import zoo
from kzlib.records import Backend, Candidate, Verdict
from kzlib.verifier import Verifier
from kzlib.verifier.protocols import PROTOCOLS
from kzlib.widgets.view import View, paragraph, select, short, source, table

EDITED = "edited"
LINE_NUMBER = re.compile(r"\bline (\d+)\b|\((\d+)\)(?=: (?:error|warning))")
HIDDEN = ("walls", "output")  # long, and the same for every kernel


@dataclass(frozen=True, slots=True)
class Bench:
    """A kernel on the bench and its verdict; None while it has not been judged as it stands."""

    task: str
    case: str
    source: str
    backend: Backend
    protocol: str = "strict"
    verdict: Verdict | None = None


@cache
def by_task(gpu: bool = False) -> dict[str, tuple[zoo.Case, ...]]:
    """The zoo's cases by task, honest ones first; with `gpu`, those too that show nothing without a device."""
    found: dict[str, list[zoo.Case]] = {}
    for case in zoo.cases(gpu=gpu):
        found.setdefault(case.task, []).append(case)
    return {task: tuple(sorted(cases, key=lambda c: (not c.honest, c.name))) for task, cases in sorted(found.items())}


class KernelBench(View[Bench]):
    """Begins with one kernel of the zoo, already judged. `device` as the verifier's: "cpu" is Triton's interpreter."""

    title = "Kernel bench"

    def __init__(self, case: str = "memo_by_pointer", device: str = "auto", seed: int | None = None) -> None:
        self.verifier = Verifier(device=device, workers=1)
        self.tasks = by_task(gpu=self.verifier.device != "cpu")
        self.seed = seed
        chosen = zoo.case(case)
        start = Bench(chosen.task, chosen.name, chosen.candidate.source, chosen.candidate.backend)
        super().__init__(self.judged(start))

    def close(self) -> None:
        """End the verifier's processes; the next judgement starts new ones."""
        self.verifier.close()

    def judged(self, state: Bench) -> Bench:
        """The state with its verdict."""
        if not self.verifier.open:
            self.verifier = Verifier(device=self.verifier.device, workers=1)
        self.verifier.server()  # started here, so that no verdict's time includes it
        task = zoo.tasks()[state.task]
        candidate = Candidate(task.id, state.backend, state.source)
        [verdict] = self.verifier.verify([task], [candidate], protocol=state.protocol, seed=self.seed)
        return Bench(state.task, state.case, state.source, state.backend, state.protocol, verdict)

    def picture(self, state: Bench) -> str:
        heading = f"Task {state.task}, kernel {state.case}, protocol {state.protocol}."
        module = source(zoo.tasks()[state.task].source, height="10em")
        if state.verdict is None:
            return paragraph(f"{heading} Not judged: press Judge.") + module + source(state.source)
        verdict = state.verdict
        found = f"{heading} Verdict: {verdict.outcome.value} at stage {verdict.stage}, on {verdict.where}."
        marked = lines_named(verdict.message)
        message = source_message(verdict.message)
        return (
            paragraph(found)
            + message
            + table(["fact", "value"], facts(verdict))
            + module
            + source(state.source, marked)
        )

    def controls(self) -> list[Any]:
        import ipywidgets

        task = select("task", self.tasks, self.state.task)
        case = select("kernel", self._cases(), self.state.case)
        protocol = self.bind(select("protocol", PROTOCOLS, self.state.protocol), "protocol")
        text = ipywidgets.Textarea(
            value=self.state.source, description="source", continuous_update=False,
            layout={"width": "98%", "height": "18em"}, style={"description_width": "9em"},
        )  # fmt: skip
        button = ipywidgets.Button(description="Judge", tooltip="Send this kernel to the verifier", icon="gavel")

        def choose_task(change: dict[str, Any]) -> None:
            first = self.tasks[change["new"]][0]
            self.state = Bench(first.task, first.name, first.candidate.source, first.candidate.backend, protocol.value)
            case.options = self._cases()
            case.value = first.name
            text.value = first.candidate.source
            self.set(verdict=None)

        def choose_case(change: dict[str, Any]) -> None:
            known = {c.name: c for c in self.tasks[self.state.task]}
            if change["new"] not in known:
                return  # "edited", or the list of another task on its way
            candidate = known[change["new"]].candidate
            self.set(case=change["new"], source=candidate.source, backend=candidate.backend, verdict=None)
            text.value = candidate.source

        def edit(change: dict[str, Any]) -> None:
            if change["new"] != self.state.source:
                self.set(case=EDITED, source=change["new"], verdict=None)
                case.value = EDITED

        def judge(_: Any) -> None:
            button.disabled, button.description = True, "Judging"
            try:
                self.set(verdict=self.judged(self.state).verdict)
            finally:
                button.disabled, button.description = False, "Judge"

        task.observe(choose_task, names="value")
        case.observe(choose_case, names="value")
        protocol.observe(lambda _: self.set(verdict=None), names="value")
        text.observe(edit, names="value")
        button.on_click(judge)
        return [task, case, protocol, text, button]

    def _cases(self) -> list[str]:
        return [case.name for case in self.tasks[self.state.task]] + [EDITED]


def lines_named(message: str) -> set[int]:
    """The line numbers of the kernel's own source that a message names.

    >>> sorted(lines_named("NameError: y\\nline 12: tl.store(y)"))
    [12]
    """
    return {int(a or b) for a, b in LINE_NUMBER.findall(message)}


def source_message(message: str) -> str:
    """The verifier's message as it is, or nothing."""
    return "".join(paragraph(line) for line in message.splitlines())


def facts(verdict: Verdict) -> list[tuple[str, str]]:
    """Evidence, time and cost of a verdict as rows of a table."""
    rows = [(name, brief(value)) for name, value in verdict.evidence.items() if name not in HIDDEN]
    if verdict.timing is not None:
        t = verdict.timing
        rows.append(
            ("timing", f"{t.speedup:.3g} times PyTorch, {t.kind} ({t.candidate_us:.3g} against {t.baseline_us:.3g} µs)")
        )
    spent = ", ".join(f"{name} {s:.2g} s" for name, s in verdict.seconds.items() if not name.startswith("child_"))
    return [*rows, ("cost", spent), ("seed", str(verdict.seed))]


def brief(value: Any) -> str:
    """A value of the evidence on one line."""
    text = short(value) if isinstance(value, float | str) else json.dumps(value, default=str)
    return text if len(text) <= 160 else text[:159] + "…"
