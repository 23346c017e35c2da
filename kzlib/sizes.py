"""The whole numbers that set a task's sizes, where they stand in its text, and how to write others in their place."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kzlib.apis.resolve import INPUT_FUNCTIONS


@dataclass(frozen=True, slots=True)
class Number:
    """One number in the text: its value, its place as byte offsets, and how it is used among the inputs' sizes."""

    value: int
    start: int
    end: int
    name: str  # module-level name that it is the whole value of, "" for a literal
    leading: bool  # the first size of an input, and nothing else
    trailing: bool  # the last size of an input


def numbers_of(source: str) -> list[Number]:
    """Whole numbers in module-level assignments and in the input functions; `2048 * 4` is one number.

    >>> found = numbers_of("N = 64 * 2\\ndef get_inputs(): return [torch.rand(N, 3)]")
    >>> [(n.value, n.leading, n.trailing) for n in found]
    [(128, True, False), (3, False, True)]
    """
    tree = ast.parse(source)
    offsets = _line_offsets(source)
    functions = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name in INPUT_FUNCTIONS]
    leading, trailing, elsewhere = _roles(functions)
    found = []
    for stmt in [*(s for s in tree.body if isinstance(s, ast.Assign | ast.AnnAssign)), *functions]:
        for node, name in _whole_numbers(stmt):
            value = whole(node)
            if value is None:
                continue
            start, end = (offsets[ln - 1] + col for ln, col in ((node.lineno, node.col_offset), _end(node)))
            key = name or node
            first = key in leading and key not in elsewhere and key not in trailing
            found.append(Number(value, start, end, name, first, key in trailing))
    return found


def rewritten(source: str, numbers: Sequence[Number], values: Sequence[int]) -> str:
    """The text with `values[i]` in the place of `numbers[i]`; what keeps its value keeps its text."""
    raw = source.encode()
    for number, value in sorted(zip(numbers, values, strict=True), key=lambda pair: -pair[0].start):
        if value != number.value:
            raw = raw[: number.start] + str(value).encode() + raw[number.end :]
    return raw.decode()


def whole(node: ast.AST) -> int | None:
    """The whole number that an expression of literals is, else None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) and not isinstance(node.value, bool) else None
    if isinstance(node, ast.BinOp):
        left, right = whole(node.left), whole(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Pow) and 0 <= right < 64:
            return left**right
        if isinstance(node.op, ast.FloorDiv) and right:
            return left // right
    return None


def _whole_numbers(stmt: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """Maximal number expressions of a statement, with the name each is assigned to if it is all of it."""
    names: dict[ast.AST, str] = {}
    if isinstance(stmt, ast.Assign):
        for target in stmt.targets:
            if isinstance(target, ast.Name):
                shape = stmt.value.elts[-1:] if isinstance(stmt.value, ast.Tuple | ast.List) else []
                names.update(dict.fromkeys([stmt.value, *shape], target.id))
            elif isinstance(target, ast.Tuple) and isinstance(stmt.value, ast.Tuple):
                for part, value in zip(target.elts, stmt.value.elts, strict=False):
                    if isinstance(part, ast.Name):
                        names[value] = part.id
    waiting: list[ast.AST] = [stmt]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr) and whole(node) is not None:
            yield node, names.get(node, "")
        else:
            waiting += ast.iter_child_nodes(node)


def _roles(functions: list[ast.FunctionDef]) -> tuple[set[object], set[object], set[object]]:
    """Names and literals that are the first size of a call in the input functions, the last one, or something else."""
    leading: Counter[object] = Counter()
    trailing: set[object] = set()
    every: Counter[object] = Counter()
    for node in (n for function in functions for n in ast.walk(function)):
        if isinstance(node, ast.Name):
            every[node.id] += 1
        elif isinstance(node, ast.Call) and node.args:
            tuples = [arg.elts for arg in node.args if isinstance(arg, ast.Tuple) and arg.elts]
            sizes = tuples[0] if tuples else node.args  # torch.randint(0, n, (a, b))
            leading[_key(sizes[0])] += 1
            if len(sizes) > 1:
                trailing.add(_key(sizes[-1]))
    return set(leading), trailing, {name for name, count in every.items() if count > leading[name]}


def _key(node: ast.expr) -> object:
    """A name stands for all its uses, a literal for itself; `*shape` is the shape's name."""
    inner = node.value if isinstance(node, ast.Starred) else node
    return inner.id if isinstance(inner, ast.Name) else node


def _line_offsets(source: str) -> list[int]:
    offsets = [0]
    for line in source.encode().split(b"\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    return offsets


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
