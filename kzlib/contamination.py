"""Does a training task equal a benchmark task? Copies are dropped, same operators reported, common idioms left alone.

Source: issue 5, reports P37. Names, comments, constants and the order of independent lines do not hide a copy.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from kzlib.dataflow import graph_of
from kzlib.identity import identity
from kzlib.records import Task

Finding = Literal["copy", "same_operators", "clear"]
# From so many operators on, the same structure is no idiom: two people do not write it by chance.
IDIOM_BELOW = 4


@dataclass(frozen=True, slots=True)
class Row:
    """What was found of one task, the benchmark task it resembles ("" when clear), and why."""

    task_id: str
    origin: str
    finding: Finding
    benchmark: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Rows in the tasks' order, and the tasks that may be trained on."""

    rows: tuple[Row, ...]
    kept: tuple[Task, ...]

    def counts(self) -> dict[Finding, int]:
        """How many tasks of each finding."""
        found = Counter(row.finding for row in self.rows)
        return {"copy": found["copy"], "same_operators": found["same_operators"], "clear": found["clear"]}


@dataclass(frozen=True, slots=True)
class _Mark:
    origin: str
    identity: str
    operators: tuple[tuple[str, int], ...]
    sizes: tuple[float, ...]
    text: str

    @property
    def length(self) -> int:
        return sum(count for _, count in self.operators)


def compare(tasks: Iterable[Task], benchmark: Sequence[Task]) -> Report:
    """Compare each task with every benchmark task.

    copy: the same text; or the same structure and sizes; or the same structure of four operators or more, whatever
    the sizes. same_operators: the same structure of up to three operators with other sizes, the same single
    operator, or the same collection of four operators or more. Else clear.

    >>> from kzlib.tasks import load_tasks
    >>> heldout = load_tasks("heldout")
    >>> compare(heldout[:1], heldout).counts()
    {'copy': 1, 'same_operators': 0, 'clear': 0}
    """
    by_identity: dict[str, list[_Mark]] = defaultdict(list)
    by_operators: dict[tuple[tuple[str, int], ...], list[_Mark]] = defaultdict(list)
    for task in benchmark:
        mark = _mark(task)
        by_identity[mark.identity].append(mark)
        by_operators[mark.operators].append(mark)
    rows, kept = [], []
    for task in tasks:
        mark = _mark(task)
        row = Row(task.id, task.origin, *_judge(mark, by_identity[mark.identity], by_operators[mark.operators]))
        rows.append(row)
        if row.finding != "copy":
            kept.append(task)
    return Report(tuple(rows), tuple(kept))


def _judge(mark: _Mark, alike: list[_Mark], same: list[_Mark]) -> tuple[Finding, str, str]:
    for other in alike:
        if mark.text == other.text:
            return "copy", other.origin, "the same text"
        if mark.sizes == other.sizes:
            return "copy", other.origin, "the same computation and sizes; names, constants or order differ at most"
    if alike and mark.length >= IDIOM_BELOW:
        return "copy", alike[0].origin, f"the same {mark.length} operators in the same structure"
    if alike:
        return "same_operators", alike[0].origin, "the same operators with other sizes"
    if same and (mark.length == 1 or mark.length >= IDIOM_BELOW):
        return "same_operators", same[0].origin, "the same operators in another structure"
    return "clear", "", ""


def _mark(task: Task) -> _Mark:
    try:
        operators = tuple(sorted(graph_of(task.source).operators().items()))
    except (ValueError, SyntaxError, RecursionError):
        operators = (("text that is not a module", 1),)
    return _Mark(task.origin, identity(task.source), operators, sizes(task.source), re.sub(r"\s+", " ", task.source))


def sizes(source: str) -> tuple[float, ...]:
    """Numbers that `get_inputs` and `get_init_inputs` use, in the order of the text, module constants put in.

    >>> sizes("N = 4 * 8\\ndef get_inputs():\\n    return [torch.rand(N, 3)]")
    (32.0, 3.0)
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    known: dict[str, ast.expr] = {}
    for stmt in tree.body:
        _learn(stmt, known)
    found: list[float] = []
    for name in ("get_inputs", "get_init_inputs"):
        for stmt in tree.body:
            if isinstance(stmt, ast.FunctionDef) and stmt.name == name:
                local = dict(known)
                for inner in stmt.body:
                    _learn(inner, local)
                for returned in (s.value for s in stmt.body if isinstance(s, ast.Return) and s.value is not None):
                    found += _numbers(returned, local, 0)
    return tuple(found)


def _learn(stmt: ast.stmt, known: dict[str, ast.expr]) -> None:
    """Put what an assignment says of names into `known`."""
    if not isinstance(stmt, ast.Assign):
        return
    for target in stmt.targets:
        if isinstance(target, ast.Name):
            known[target.id] = stmt.value
        elif isinstance(target, ast.Tuple) and isinstance(stmt.value, ast.Tuple):
            pairs = zip(target.elts, stmt.value.elts, strict=False)
            known.update({t.id: v for t, v in pairs if isinstance(t, ast.Name)})


def _numbers(expr: ast.expr, known: dict[str, ast.expr], depth: int) -> list[float]:
    value = _fold(expr, known, depth)
    if value is not None:
        return [value]
    if isinstance(expr, ast.Name) and expr.id in known and depth < 20:
        return _numbers(known[expr.id], {k: v for k, v in known.items() if k != expr.id}, depth + 1)
    return [n for c in ast.iter_child_nodes(expr) for n in _child_numbers(c, known, depth)]


def _child_numbers(node: ast.AST, known: dict[str, ast.expr], depth: int) -> list[float]:
    if isinstance(node, ast.expr):
        return _numbers(node, known, depth)
    return [n for c in ast.iter_child_nodes(node) for n in _child_numbers(c, known, depth)]


def _fold(expr: ast.expr, known: dict[str, ast.expr], depth: int) -> float | None:
    """The number an expression of constants is, else None."""
    if isinstance(expr, ast.Constant):
        value = expr.value
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    if isinstance(expr, ast.Name) and expr.id in known and depth < 20:
        return _fold(known[expr.id], {k: v for k, v in known.items() if k != expr.id}, depth + 1)
    if isinstance(expr, ast.UnaryOp) and isinstance(expr.op, ast.USub):
        inner = _fold(expr.operand, known, depth + 1)
        return None if inner is None else -inner
    if isinstance(expr, ast.BinOp) and depth < 20:
        left, right = _fold(expr.left, known, depth + 1), _fold(expr.right, known, depth + 1)
        if left is None or right is None:
            return None
        return _arithmetic(expr.op, left, right)
    return None


def _arithmetic(op: ast.operator, left: float, right: float) -> float | None:
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    if isinstance(op, ast.Mult):
        return left * right
    if isinstance(op, ast.FloorDiv | ast.Div) and right:
        return left // right if isinstance(op, ast.FloorDiv) else left / right
    return None
