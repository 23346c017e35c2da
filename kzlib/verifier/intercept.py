"""Finds the extensions a candidate will ask for, before the candidate runs.

First from the syntax tree: a call of `load_inline` whose sources are text constants (joined, formatted and named ones
too) needs nobody to run anything. For the rest the candidate is run in a sandboxed child whose builders only write
down what they are asked. Source: issue 4, item 1.
"""

from __future__ import annotations

import ast
import contextlib
import re
import socket
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kzlib.verifier.extension import INLINE_PARAMETERS, BadRequest, Extension, bind, inline_request

_BUILDERS = ("load_inline", "load")
# Arguments that do not change the library; their values need not be known.
_IGNORED = {"name", "build_directory", "verbose", "keep_intermediates", "use_pch", "with_cuda", "extra_include_paths"}
MAX_EXTENSIONS = 16


class NotLiteral(ValueError):  # noqa: N818 - named for what happened
    """An expression whose value only running the candidate could tell."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the syntax tree says: the extensions, whether that is all of them, and where their sources begin.

    `lines` maps an extension's key to {"cuda_sources": first line in the candidate, ...}.
    """

    extensions: tuple[Extension, ...]
    complete: bool
    lines: dict[str, dict[str, int]]


def asks_for_builds(source: str) -> bool:
    """True where the text mentions one of PyTorch's JIT builders at all."""
    return "cpp_extension" in source or "load_inline" in source


def may_catch(source: str) -> bool:
    r"""True where the code could go on after a failed build: it holds a `try`, a `with suppress`, or cannot be read.

    >>> may_catch("m = load_inline()"), may_catch("try:\n  m = f()\nexcept Exception: m = None")
    (False, True)
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return True
    return any(isinstance(n, ast.Try | ast.With) for n in nodes)


def find(source: str) -> Found:
    """The extensions that can be read off the syntax tree. A source that does not parse has none, and that is complete.

    >>> code = '''
    ... from torch.utils.cpp_extension import load_inline
    ... CPP = "int f();"
    ... m = load_inline(name="m", cpp_sources=CPP, cuda_sources="int f() { return " + "1; }", functions=["f"])
    ... '''
    >>> find(code).extensions[0].cuda, find(code).complete
    (('int f() { return 1; }',), True)
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return Found((), True, {})
    reader = _Reader(tree)
    extensions: dict[str, Extension] = {}
    lines: dict[str, dict[str, int]] = {}
    complete = True
    for call in reader.builder_calls():
        try:
            extension, first = reader.request(call)
        except (NotLiteral, BadRequest):
            complete = False
            continue
        extensions[extension.key] = extension
        lines[extension.key] = first
    if not extensions and complete and asks_for_builds(source):
        complete = False  # mentioned but not called by a name we know: an alias, getattr, exec ...
    return Found(tuple(extensions.values()), complete, lines)


class _Reader:
    """Values of constant expressions of one module."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.names: dict[str, ast.expr | None] = {}
        self.builders: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value)
            elif isinstance(node, ast.AugAssign | ast.For | ast.NamedExpr):
                self._assign(node.target, None)
            elif isinstance(node, ast.ImportFrom) and node.module == "torch.utils.cpp_extension":
                for alias in node.names:
                    self.builders[alias.asname or alias.name] = alias.name

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        for node in ast.walk(target):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name is not None and isinstance(getattr(node, "ctx", None), ast.Store):
                again = name in self.names
                self.names[name] = None if again or node is not target else value

    def builder_calls(self) -> list[ast.Call]:
        calls = []
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Call):
                continue
            function = node.func
            if (isinstance(function, ast.Name) and self.builders.get(function.id) in _BUILDERS) or (
                isinstance(function, ast.Attribute)
                and function.attr in _BUILDERS
                and ast.unparse(function.value).endswith("cpp_extension")
            ):
                calls.append(node)
        return calls

    def request(self, call: ast.Call) -> tuple[Extension, dict[str, int]]:
        function = call.func
        name = self.builders[function.id] if isinstance(function, ast.Name) else getattr(function, "attr", "")
        if (
            name != "load_inline"
            or any(isinstance(a, ast.Starred) for a in call.args)
            or any(k.arg is None for k in call.keywords)
        ):
            raise NotLiteral("a call whose arguments are not written out")
        nodes = bind(INLINE_PARAMETERS, call.args, {str(k.arg): k.value for k in call.keywords})
        values = {n: "" if n in _IGNORED else self.value(node) for n, node in nodes.items()}
        values.setdefault("name", "")
        first = {n: self._first_line(nodes[n]) for n in ("cpp_sources", "cuda_sources") if n in nodes}
        return inline_request(values), {n: line for n, line in first.items() if line is not None}

    def _first_line(self, node: ast.expr, depth: int = 0) -> int | None:
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == 1:
            node = node.elts[0]
        if isinstance(node, ast.Name | ast.Attribute) and depth < 8:
            name = node.id if isinstance(node, ast.Name) else node.attr
            value = self.names.get(name)
            return None if value is None else self._first_line(value, depth + 1)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            spans = (node.end_lineno or node.lineno) - node.lineno
            return node.lineno if node.value.count("\n") == spans else None
        return None

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        if depth > 40:
            raise NotLiteral("too deep")
        deeper = depth + 1
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name | ast.Attribute):
            held = self.names.get(node.id if isinstance(node, ast.Name) else node.attr)
            if held is None:
                raise NotLiteral("a name set more than once, or not here")
            return self.value(held, deeper)
        if isinstance(node, ast.List | ast.Tuple):
            return [self.value(item, deeper) for item in node.elts]
        if isinstance(node, ast.Dict):
            if any(key is None for key in node.keys):
                raise NotLiteral("a dictionary with **")
            return {
                self.value(k, deeper): self.value(v, deeper)
                for k, v in zip(node.keys, node.values, strict=True)
                if k is not None
            }
        if isinstance(node, ast.BinOp):
            return self._operation(node, deeper)
        if isinstance(node, ast.JoinedStr):
            return "".join(self._part(part, deeper) for part in node.values)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._method(node, deeper)
        raise NotLiteral(type(node).__name__)

    def _operation(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.value(node.left, depth), self.value(node.right, depth)
        if isinstance(node.op, ast.Add) and type(left) is type(right) and isinstance(left, str | list):
            return left + right  # type: ignore[operator]
        if isinstance(node.op, ast.Mod) and isinstance(left, str) and isinstance(right, str | int | float):
            try:
                return left % right
            except (TypeError, ValueError):
                raise NotLiteral("a format that does not fit") from None
        raise NotLiteral("an operation other than joining text")

    def _part(self, part: ast.expr, depth: int) -> str:
        if isinstance(part, ast.Constant):
            return str(part.value)
        if isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1:
            value = self.value(part.value, depth)
            if isinstance(value, str | int | float):
                return str(value)
        raise NotLiteral("a formatted value")

    def _method(self, node: ast.Call, depth: int) -> Any:
        assert isinstance(node.func, ast.Attribute)
        if node.func.attr not in ("strip", "replace", "format", "lstrip", "rstrip", "join") or node.keywords:
            raise NotLiteral("a call")
        text = self.value(node.func.value, depth)
        arguments = [self.value(a, depth) for a in node.args]
        if not isinstance(text, str):
            raise NotLiteral("a call")
        try:
            return getattr(text, node.func.attr)(*arguments)
        except (TypeError, ValueError, IndexError, KeyError):
            raise NotLiteral("a call that fails") from None


def own_lines(lines: list[str], first: dict[str, int]) -> list[str]:
    """Compiler messages with line numbers of the candidate's file instead of its source strings'.

    >>> own_lines(["cuda_sources(3): error: expected a ';'"], {"cuda_sources": 10})
    ["line 12: error: expected a ';'"]
    """

    def replace(match: re.Match[str]) -> str:
        start = first.get(match.group(1))
        return match.group(0) if start is None else f"line {start + int(match.group(2)) - 1}:"

    return [re.sub(r"\b(cpp_sources|cuda_sources)[(:](\d+)[):]+(\d+:)?", replace, line) for line in lines]


class _Recorded(types.ModuleType):
    """Stands for a module that was asked for but not built; using it ends the recording of what follows."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def unbuilt(*_: Any, **__: Any) -> Any:
            raise RuntimeError(f"{name} is not built yet")

        return unbuilt


def record_child(channel: socket.socket, walls: list[str]) -> None:
    """A fork server's child: run the candidate with builders that only write down what they are asked.

    Receives {"candidate": source, "task": source or ""}; answers {"extensions": [...]}. The answer is worth what a
    candidate's own words are worth: the builder treats it as the candidate's request and nothing else.
    """
    from kzlib.verifier import wire
    from kzlib.verifier.loader import replace_builders

    request = wire.receive(channel)
    asked: list[dict[str, Any]] = []

    def answer(extension: Extension, name: str) -> types.ModuleType:
        if len(asked) < MAX_EXTENSIONS:
            asked.append(extension.to_json())
        return _Recorded(name)

    replace_builders(answer)
    with contextlib.suppress(BaseException):  # an error ends the recording; the run itself will show it to the judge
        _run(request["candidate"], request["task"])
    wire.send(channel, {"extensions": asked})


def _run(candidate: str, task: str) -> None:
    from pathlib import Path

    def module(name: str, source: str) -> types.ModuleType:
        file = Path(f"{name}.py")
        file.write_text(source)
        made = types.ModuleType(name)
        made.__file__ = str(file)
        exec(compile(source, str(file), "exec"), vars(made))  # noqa: S102 - this is the sandboxed child
        return made

    made = module("candidate", candidate)
    model = getattr(made, "ModelNew", None)
    if model is None or not task:
        return
    initial = module("task", task).get_init_inputs()
    model(*(initial if isinstance(initial, list | tuple) else ()))
