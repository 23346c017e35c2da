"""Group explorer: one module's answers in one step, with outcome, reward and advantage, and two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from typing import Any

from kzlib.records import Task
from kzlib.widgets.view import LINE, MARK, View, paragraph, select, source, table


@dataclass(frozen=True, slots=True)
class Choice:
    """Which group, and which two of its answers (counted from 0) are compared."""

    group: int
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Group:
    """One module's answers in one step, as the trainer's rollout log has them."""

    step: int
    task: Task
    rows: tuple[dict[str, Any], ...]

    @property
    def label(self) -> str:
        right = sum(row["outcome"] == "pass" for row in self.rows)
        return f"step {self.step}: {right} of {len(self.rows)} right, {self.task.id[:6]}"

    @property
    def spread(self) -> float:
        known = [row["reward"] for row in self.rows if row["reward"] is not None and row["reward"] == row["reward"]]
        return max(known) - min(known) if known else 0.0

    def ends(self) -> tuple[int, int]:
        """The best and the worst answer by reward; an answer that was not judged is neither."""
        known = [i for i, row in enumerate(self.rows) if row["reward"] is not None and row["reward"] == row["reward"]]
        if not known:
            return 0, len(self.rows) - 1
        order = sorted(known, key=lambda i: -self.rows[i]["reward"])
        return order[0], order[-1]


def groups_of(rollouts: Iterable[Mapping[str, Any]], tasks: Mapping[str, Task]) -> list[Group]:
    """The rollout log cut into groups, in the order of the log."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in rollouts:
        found.setdefault((row["step"], row["answer"]["task_id"]), []).append(dict(row))
    return [Group(step, tasks[task], tuple(rows)) for (step, task), rows in found.items()]


class GroupExplorer(View[Choice]):
    """Begins with the group whose rewards differ most, its best answer beside its worst."""

    title = "Group explorer"

    def __init__(self, rollouts: Iterable[Mapping[str, Any]], tasks: Mapping[str, Task]) -> None:
        self.groups = groups_of(rollouts, tasks)
        start = max(range(len(self.groups)), key=lambda i: self.groups[i].spread, default=0)
        super().__init__(Choice(start, *(self.groups[start].ends() if self.groups else (0, 0))))

    def picture(self, state: Choice) -> str:
        if not self.groups:
            return paragraph("There are no rollouts: no step was trained.")
        group = self.groups[state.group]
        rows = [
            (i, r["outcome"], float(r["outcome"] == "pass"), r["speedup"], r["reward"], r["advantage"], first_line(r))
            for i, r in enumerate(group.rows)
        ]
        left, right = (group.rows[i]["answer"]["text"] for i in (state.left, state.right))
        return (
            paragraph(f"The module of {group.label}:")
            + source(group.task.source, height="14em")
            + table(["answer", "outcome", "c", "S", "r", "A", "message"], rows, (state.left, state.right))
            + side_by_side(left, right, f"answer {state.left}", f"answer {state.right}")
        )

    def controls(self) -> list[Any]:
        if not self.groups:
            return []
        labels = [(group.label, i) for i, group in enumerate(self.groups)]
        chosen = select("group", labels, self.state.group)
        left = self.bind(select("left answer", self._answers(), self.state.left), "left")
        right = self.bind(select("right answer", self._answers(), self.state.right), "right")

        def move(change: dict[str, Any]) -> None:
            """Another group has other answers: all three fields change as one state."""
            self.set(group=change["new"], left=0, right=0)
            best, worst = self.groups[change["new"]].ends()
            for control, value in ((left, best), (right, worst)):
                control.options = self._answers()
                control.value = value
            self.set(left=best, right=worst)

        chosen.observe(move, names="value")
        return [chosen, left, right]

    def _answers(self) -> list[tuple[str, int]]:
        rows = self.groups[self.state.group].rows
        return [(f"{i}: {row['outcome']}", i) for i, row in enumerate(rows)]


def first_line(row: Mapping[str, Any]) -> str:
    message = row["verdict"]["message"]
    return message.splitlines()[0][:90] if message else ""


def side_by_side(left: str, right: str, left_name: str, right_name: str) -> str:
    """Two texts in two columns; lines that differ stand out and begin with − or +."""
    a, b = left.splitlines(), right.splitlines()
    rows: list[tuple[str, str, bool]] = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal":
            rows += [(x, x, False) for x in a[a0:a1]]
            continue
        for i in range(max(a1 - a0, b1 - b0)):
            rows.append((side(a, a0 + i, a1, "−"), side(b, b0 + i, b1, "+"), True))
    if not rows:
        return paragraph("Both answers are empty.")
    same = "" if any(changed for *_, changed in rows) else paragraph(f"{left_name} and {right_name} are the same text.")
    cell = "text-align:left;vertical-align:top;padding:0 .8em 0 .2em;border:0;line-height:1.35;font-family:monospace"
    cell += ";white-space:pre-wrap;overflow-wrap:anywhere"
    body = "".join(
        "<tr>" + "".join(f'<td style="{cell};{MARK if d and t else ""}">{escape(t)}</td>' for t in (x, y)) + "</tr>"
        for x, y, d in rows
    )
    head = "".join(
        f'<th scope="col" style="text-align:left;width:50%">{escape(n)}</th>' for n in (left_name, right_name)
    )
    box = f"max-height:26em;overflow:auto;border:{LINE};margin:.4em 0"
    rows_html = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    wide = "border-collapse:collapse;table-layout:fixed;width:100%;min-width:34em"
    return f'{same}<div tabindex="0" style="{box}"><table style="{wide}">{rows_html}</table></div>'


def side(lines: Sequence[str], place: int, end: int, sign: str) -> str:
    """A changed line of one side with its sign; empty where the other side is longer."""
    return f"{sign} {lines[place]}" if place < end else ""
