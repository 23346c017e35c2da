"""Break a good kernel in one subtle place, as a model might: every mutant is labelled with what was done to it.

Edits are made on positions of the syntax tree (Triton) or of a tokenised kernel text (CUDA), so the rest of the file
stays as it was. Whether a mutant changes any value is another question: see `mutants`. Source: issue 3, item 8.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# What each class stands for, in the words of the published table.
CLASSES = {
    "drop_tail": "the last, partial block or step is left out",
    "missing_mask": "a load or store without its mask, or with half of it",
    "wrong_axis": "reduced along, indexed by or strided over another axis",
    "lower_precision": "fp16 inside a float32 kernel",
    "off_by_one": "a bound, an index or a loop start is one off",
    "skipped_term": "one addend (a bias, a residual) is forgotten",
    "wrong_constant": "a constant is slightly off",
    "swapped_operands": "a - b for b - a, a / b for b / a",
    "wrong_init": "an accumulator or a masked lane starts with another value",
    "missing_epilogue": "the last elementwise function is not applied",
    "wrong_operator": "max for min, + for -, * for +",
    "lost_atomic": "a plain store for an atomic update",
    "skipped_launch": "one of several kernels is not launched",
    "missing_barrier": "a __syncthreads() is removed",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken text: its class (a key of `CLASSES`), the line touched and the two spellings."""

    kind: str
    line: int
    before: str
    after: str
    source: str


@dataclass(frozen=True, slots=True)
class _Edit:
    kind: str
    start: int
    end: int
    text: str


def mutants(source: str) -> list[Mutant]:
    """All mutants of a candidate's text, in order of position; equal texts once.

    >>> kernel = "@triton.jit\\ndef k(x, n):\\n    tl.store(x, tl.load(x, mask=n > 0) - n)\\n"
    >>> sorted({m.kind for m in mutants(kernel)})
    ['lower_precision', 'missing_mask', 'off_by_one', 'skipped_term', 'swapped_operands', 'wrong_operator']
    """
    tree = ast.parse(source)
    text = _Positions(source)
    edits = [*_triton(tree, text), *_host(tree, text), *_cuda(tree, text)]
    found: dict[str, Mutant] = {}
    for edit in sorted(edits, key=lambda e: (e.start, e.end, e.kind, e.text)):
        broken = source[: edit.start] + edit.text + source[edit.end :]
        if broken == source or broken in found or not _parses(broken):
            continue
        line = source.count("\n", 0, edit.start) + 1
        found[broken] = Mutant(edit.kind, line, source[edit.start : edit.end][:80], edit.text[:80], broken)
    return list(found.values())


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Positions:
    """Offsets of syntax nodes in a text (columns of `ast` count UTF-8 bytes)."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode(errors="ignore"))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.source[start:end]


def _name(node: ast.expr) -> str:
    """ "tl.load" for the called name, "" for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _kernels(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions whose decorators name `jit`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.dump(d) for d in node.decorator_list):
            yield node


def _triton(tree: ast.Module, text: _Positions) -> Iterator[_Edit]:
    for kernel in _kernels(tree):
        for statement in kernel.body:
            for node in ast.walk(statement):
                for rule in _RULES:
                    yield from rule(node, text)


Rule = Callable[[ast.AST, _Positions], Iterator[_Edit]]


def _mask(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    if not (isinstance(node, ast.Call) and _name(node.func) in ("tl.load", "tl.store", "tl.atomic_add")):
        return
    for keyword in node.keywords:
        if keyword.arg != "mask":
            continue
        start, end = text.span(keyword.value)
        others = [k for k in node.keywords if k.arg == "other"]
        last = text.span(others[0].value)[1] if others else end
        before = text.source.rfind(",", 0, text.span(keyword)[0])
        yield _Edit("missing_mask", before, max(last, end), "")
        if isinstance(keyword.value, ast.BinOp) and isinstance(keyword.value.op, ast.BitAnd):
            for part in (keyword.value.left, keyword.value.right):
                yield _Edit("missing_mask", start, end, text.text(part))


def _precision(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    if not isinstance(node, ast.Call):
        return
    start, end = text.span(node)
    if _name(node.func) == "tl.load":
        yield _Edit("lower_precision", start, end, f"({text.text(node)}).to(tl.float16).to(tl.float32)")
    if _name(node.func) == "tl.dot" and len(node.args) >= 2:
        for argument in node.args[:2]:
            first, last = text.span(argument)
            yield _Edit("lower_precision", first, last, f"({text.text(argument)}).to(tl.bfloat16).to(tl.float32)")


_AXIS_CALLS = ("tl.sum", "tl.max", "tl.min", "tl.argmax", "tl.argmin", "tl.cumsum", "tl.program_id")


def _axis(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    if isinstance(node, ast.Call) and _name(node.func) in _AXIS_CALLS:
        axes = [a for a in node.args[-1:] if isinstance(a, ast.Constant)]
        axes += [k.value for k in node.keywords if k.arg == "axis" and isinstance(k.value, ast.Constant)]
        for axis in axes:
            if axis.value in (0, 1) and isinstance(axis.value, int):
                yield _Edit("wrong_axis", *text.span(axis), str(1 - axis.value))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        start, end = text.span(node.slice)
        kinds = [isinstance(e, ast.Constant) and e.value is None for e in node.slice.elts]
        if kinds in ([True, False], [False, True]):
            first, second = (text.text(e) for e in node.slice.elts)
            yield _Edit("wrong_axis", start, end, f"{second}, {first}")


def _off_by_one(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = text.text(node.left), text.text(node.comparators[0])
        start, end = text.span(node)
        other = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}.get(type(node.ops[0]))
        if other:
            yield _Edit("off_by_one", start, end, f"{left} {other} {right}")
        if isinstance(node.ops[0], ast.Lt):
            yield _Edit("off_by_one", start, end, f"{left} < {right} - 1")
    if isinstance(node, ast.Call) and _name(node.func) == "tl.arange":
        yield _Edit("off_by_one", *text.span(node), f"({text.text(node)} + 1)")
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and node.iter.args:
        call = node.iter
        first, last = text.span(call)
        arguments = [text.text(a) for a in call.args]
        if len(arguments) == 1:
            yield _Edit("off_by_one", first, last, f"{text.text(call.func)}(1, {arguments[0]})")
            yield _Edit("drop_tail", first, last, f"{text.text(call.func)}({arguments[0]} - 1)")
        if len(arguments) == 3:
            shorter = f"{arguments[0]}, ({arguments[1]}) // ({arguments[2]}) * ({arguments[2]}), {arguments[2]}"
            yield _Edit("drop_tail", first, last, f"{text.text(call.func)}({shorter})")
            later = f"{arguments[0]} + {arguments[2]}, {arguments[1]}, {arguments[2]}"
            yield _Edit("off_by_one", first, last, f"{text.text(call.func)}({later})")


def _terms(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    """Sums that are values, not addresses: pointers and indices have names that end in a pointer or hold an arange."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        yield _Edit("skipped_term", *text.span(node), "pass")
    if isinstance(node, ast.BinOp) and not _address(text.text(node)):
        left, right = text.text(node.left), text.text(node.right)
        start, end = text.span(node)
        if isinstance(node.op, ast.Add | ast.Sub):
            yield _Edit("skipped_term", start, end, f"({left})")
            swap = "-" if isinstance(node.op, ast.Add) else "+"
            yield _Edit("wrong_operator", start, end, f"({left} {swap} {right})")
        if isinstance(node.op, ast.Mult):
            yield _Edit("wrong_operator", start, end, f"({left} + {right})")
        if isinstance(node.op, ast.Sub | ast.Div):
            mark = "-" if isinstance(node.op, ast.Sub) else "/"
            yield _Edit("swapped_operands", start, end, f"({right} {mark} {left})")


def _address(text: str) -> bool:
    return re.search(r"_ptr|arange|program_id|BLOCK|stride|\bcols\b|//|%", text) is not None


_PAIRS = {
    "tl.max": "tl.min", "tl.min": "tl.max", "tl.maximum": "tl.minimum", "tl.minimum": "tl.maximum",
    "tl.exp": "tl.exp2", "tl.sin": "tl.cos", "tl.cos": "tl.sin", "tl.argmax": "tl.argmin",
    "tl.argmin": "tl.argmax", "tl.log": "tl.log2", "tl.sqrt": "tl.abs", "tl.rsqrt": "tl.sqrt",
}  # fmt: skip
_EPILOGUES = ("tl.maximum", "tl.minimum", "tl.sigmoid", "tl.exp", "tl.sqrt", "tl.rsqrt", "tl.log", "tl.abs", "tl.erf")


def _functions(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    if not isinstance(node, ast.Call):
        return
    name = _name(node.func)
    if name in _PAIRS:
        yield _Edit("wrong_operator", *text.span(node.func), _PAIRS[name])
    if name in _EPILOGUES and node.args:
        yield _Edit("missing_epilogue", *text.span(node), f"({text.text(node.args[0])})")
    if name == "tl.where" and len(node.args) == 3 and not _address(text.text(node.args[1])):
        yield _Edit("missing_epilogue", *text.span(node), f"({text.text(node.args[1])})")
    if name in ("tl.atomic_add", "tl.atomic_max", "tl.atomic_min"):
        yield _Edit("lost_atomic", *text.span(node.func), "tl.store")


def _constants(node: ast.AST, text: _Positions) -> Iterator[_Edit]:
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if name == "tl.zeros":
            yield _Edit("wrong_init", *text.span(node), f"({text.text(node)} + 1.0)")
        for keyword in node.keywords if name == "tl.load" else []:
            if keyword.arg == "other":
                yield _Edit("wrong_init", *text.span(keyword.value), "1.0")
        if name == "tl.full" and len(node.args) > 1:
            yield _Edit("wrong_init", *text.span(node.args[1]), "0.5")
        if isinstance(node.func, ast.Name) and node.func.id == "float":
            yield _Edit("wrong_init", *text.span(node), "0.0")
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value != 0.0:
        yield _Edit("wrong_constant", *text.span(node), repr(node.value * 1.01))


_RULES: tuple[Rule, ...] = (_mask, _precision, _axis, _off_by_one, _terms, _functions, _constants)


def _host(tree: ast.Module, text: _Positions) -> Iterator[_Edit]:
    """The launching side: grids that round down, launches left out, strides in another order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) == "triton.cdiv" and len(node.args) == 2:
            first, second = (text.text(a) for a in node.args)
            yield _Edit("drop_tail", *text.span(node), f"max(1, ({first}) // ({second}))")
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
            yield _Edit("skipped_launch", *text.span(node), "pass")
        if isinstance(node, ast.Starred) and text.text(node).endswith(".stride()"):
            yield _Edit("wrong_axis", *text.span(node), f"{text.text(node)}[::-1]")


_CUDA_WORDS = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|__syncthreads\(\)\s*;|[A-Za-z_]\w*|\d[\w.]*|[<>=!+*/-]=|\S', re.S
)
_CUDA_PAIRS = {
    "fmaxf": "fminf",
    "fminf": "fmaxf",
    "expf": "exp2f",
    "logf": "log2f",
    "atomicAdd": "lost",
    "sqrtf": "fabsf",
}


def _cuda(tree: ast.Module, text: _Positions) -> Iterator[_Edit]:
    """Edits inside string constants that hold a `__global__` or `__device__` function."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and "__global__" in node.value):
            continue
        start, end = text.span(node)
        quotes = re.match(r"[rRuU]*(\"{3}|'{3}|[\"'])", text.source[start:])
        if quotes is None:
            continue
        start, end = start + quotes.end(), end - len(quotes[1])
        for word in _CUDA_WORDS.finditer(text.source, start, end):
            if _in_kernel(text.source, start, word.start()):
                yield from _cuda_word(word, text.source)


def _in_kernel(source: str, start: int, position: int) -> bool:
    """Is this place in the body of the last `__global__` or `__device__` function before it?"""
    head = max(source.rfind("__global__", start, position), source.rfind("__device__", start, position))
    if head < 0:
        return False
    body = source.find("{", head)
    return 0 <= body < position < _closing(source, body, "{}")


def _cuda_word(word: re.Match[str], source: str) -> Iterator[_Edit]:
    spelling, start, end = word[0], word.start(), word.end()
    if spelling.startswith("__syncthreads"):
        yield _Edit("missing_barrier", start, end, "")
    if spelling == "<" and source[start - 1] != "<" and source[end] not in "<=":
        yield _Edit("off_by_one", start, end, "<=")
    if spelling == "+=":
        yield _Edit("skipped_term", start, end, "=")
    if spelling in _CUDA_PAIRS and _CUDA_PAIRS[spelling] != "lost":
        yield _Edit("wrong_operator", start, end, _CUDA_PAIRS[spelling])
    if re.fullmatch(r"\d+\.\d*(?:e-?\d+)?f", spelling) and float(spelling[:-1]) != 0.0:
        yield _Edit("wrong_constant", start, end, f"{float(spelling[:-1]) * 1.01!r}f")
    if spelling == "if":
        close = _closing(source, source.find("(", end))
        if close and re.search(r"<|>=", source[end:close]):
            yield _Edit("missing_mask", end, close, " (true)")


def _closing(source: str, opening: int, pair: str = "()") -> int:
    """The place after the bracket that closes the one at `opening`; 0 where nothing does."""
    depth = 0
    for position in range(opening, len(source)):
        depth += {pair[0]: 1, pair[1]: -1}.get(source[position], 0)
        if depth == 0:
            return position + 1
    return 0
