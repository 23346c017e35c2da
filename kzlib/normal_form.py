"""A module's normal form: what a small Coder reads instead of the author's spelling of it.

Documentation, comments, annotations, module-level constants and the author's names go; `forward` becomes one operation
a line, each result taking the name of an operand that dies there. So modules that compute alike read alike, however
nested their author wrote them, and a model of a few million parameters need not learn to parse. By syntax tree alone:
nothing is executed.
"""

from __future__ import annotations

import ast
import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any

from kzlib.apis.imports import Imports
from kzlib.arguments import Arguments
from kzlib.constructor import assigned, init_values, is_literal, settle
from kzlib.naming import named_alike
from kzlib.signature import signature
from kzlib.spelling import Functions, one_name

FRESH = ("u", "v", "w", "p", "q", "r", "s", "t")
_METADATA = frozenset({"shape", "dtype", "device", "ndim"})
_SIZES = frozenset({"size", "dim", "numel"})
_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_PREFIXES = (("torch.nn.functional.", "F"), ("torch.nn.", "nn"))
_LARGEST = 1 << 40
_CALLERS = ("get_inputs", "get_init_inputs")


class _NotStraight(Exception):  # noqa: N818 - control flow: this forward is no straight line
    pass


def normal_form(source: str, entry: str = "Model") -> str:
    """The normal form of a task's text; text that does not parse, or has no such class, comes back stripped.

    >>> print(normal_form('''
    ... import torch
    ... import torch.nn.functional as F
    ... WIDTH = 8 * 2
    ... class Model(torch.nn.Module):
    ...     "Doubled."
    ...     def forward(self, x):
    ...         return F.softsign(x + torch.exp(x) * WIDTH ** -0.5)  # why not
    ... def get_inputs():
    ...     return [torch.randn(3, WIDTH)]
    ... '''))
    class Model(nn.Module):
        def forward(self, x):
            u = torch.exp(x)
            u = u * 0.25
            x = x + u
            x = F.softsign(x)
            return x
    x[A, B]
    """
    try:
        tree = ast.parse(named_alike(source, entry))
    except (SyntaxError, ValueError):
        return source.strip()
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if not any(cls.name == entry for cls in classes):
        return source.strip()
    tidy = _Tidy(Imports(tree), _constants(tree))
    tidied = [tidy.visit(copy.deepcopy(node)) for node in tree.body]
    functions = {node.name: node for node in tidied if isinstance(node, ast.FunctionDef)}
    values = init_values(ast.Module([n for n in tidied if isinstance(n, ast.stmt)], []))
    settled = all(settle(n, values) for n in tidied if isinstance(n, ast.ClassDef) and n.name == entry)
    parts = [
        _shown(node)
        for node in tidied
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name not in _CALLERS
    ]
    if "get_inputs" in functions:
        read = signature(functions["get_inputs"])
        parts.append(read if read is not None else f"inputs: {_returned(functions['get_inputs'])}")
    if "get_init_inputs" in functions and not settled:
        parts.append(f"init: {_returned(functions['get_init_inputs'])}")
    return "\n".join(part for part in parts if part).replace("\n\n", "\n")


def _shown(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(_class(node)))


def _class(node: ast.AST) -> ast.AST:
    forwards = [i for i in getattr(node, "body", []) if isinstance(i, ast.FunctionDef) and i.name == "forward"]
    for item in forwards:
        Functions(_bound(item)).visit(item)
    node = Arguments().visit(node)
    for item in forwards:
        try:
            item.body = _Straight(item).lines()
        except _NotStraight:
            continue
    return ast.fix_missing_locations(node)


def _bound(forward: ast.FunctionDef) -> set[str]:
    """Names that hold values: arguments and whatever is assigned."""
    stored = {n.id for n in ast.walk(forward) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {a.arg for a in forward.args.args[1:]}


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Module-level names bound once, to numbers, strings or tuples of them."""
    bound: dict[str, ast.expr] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            value = _Fold(bound).visit(copy.deepcopy(node.value))
            for name, item in assigned(target, value):
                if isinstance(name, ast.Name) and is_literal(item):
                    bound[name.id] = item
    return bound


class _Fold(ast.NodeTransformer):
    """Known names become their values, arithmetic of numbers its result."""

    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return copy.deepcopy(self.known[node.id])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        act = _ARITHMETIC.get(type(node.op))
        left, right = _number(node.left), _number(node.right)
        if act is None or left is None or right is None:
            return node
        try:
            if isinstance(node.op, ast.Pow) and (abs(left) > _LARGEST or abs(right) > 64):
                return node
            value = act(left, right)
        except (ArithmeticError, ValueError):
            return node
        plain = isinstance(value, int | float) and abs(value) < _LARGEST
        return ast.parse(repr(value), mode="eval").body if plain else node


def _number(node: ast.expr) -> int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.value
    return None


class _Tidy(_Fold):
    """Also: no documentation, no annotations, one spelling of an imported name."""

    def __init__(self, imports: Imports, known: dict[str, ast.expr]) -> None:
        super().__init__(known)
        self.imports = imports

    def _scope(self, node: Any) -> Any:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self.generic_visit(self._scope(node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._scope(node)
        node.returns = None
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        inner = _Tidy(self.imports, {name: value for name, value in self.known.items() if name not in own})
        for child in ast.walk(node.args):
            if isinstance(child, ast.arg):
                child.annotation = None
        return ast.NodeTransformer.generic_visit(inner, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.visit(ast.Assign(targets=[node.target], value=node.value, lineno=node.lineno))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        full = self.imports.dotted(node)
        return _spelled(full) if full else self.generic_visit(node)  # type: ignore[return-value]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        full = self.imports.dotted(node) if isinstance(node.ctx, ast.Load) else None
        return _spelled(full) if full and "." in full else super().visit_Name(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            node.args = []
        return node


def _spelled(full: str) -> ast.expr:
    full = one_name(full)
    for prefix, short in _PREFIXES:
        if full.startswith(prefix):
            full = f"{short}.{full[len(prefix) :]}"
            break
    return ast.parse(full, mode="eval").body


def _returned(function: ast.AST) -> str:
    """The elements of the list a function returns, or its whole body on one line."""
    body = getattr(function, "body", [])
    if len(body) == 1 and isinstance(body[0], ast.Return) and isinstance(body[0].value, ast.List):
        return ", ".join(ast.unparse(item) for item in body[0].value.elts)
    return "; ".join(" ".join(ast.unparse(line).split()) for line in body)


class _Straight:
    """One operation a line for a `forward` of plain assignments and one return."""

    def __init__(self, forward: ast.FunctionDef) -> None:
        self.forward = forward
        self.arguments = [a.arg for a in forward.args.args[1:]]
        self.taken = {n.id for n in ast.walk(forward) if isinstance(n, ast.Name)} | set(self.arguments)
        self.values: dict[str, str] = {name: name for name in self.arguments}  # author's name -> value
        self.operations: list[tuple[list[str], ast.expr]] = []  # values defined, expression over value names
        self.result: ast.expr | None = None

    def lines(self) -> list[ast.stmt]:
        for statement in self.forward.body:
            self._read(statement)
        if self.result is None:
            raise _NotStraight
        return self._named()

    def _read(self, statement: ast.stmt) -> None:
        if self.result is not None:
            raise _NotStraight
        if isinstance(statement, ast.Return) and statement.value is not None:
            value = self._flat(statement.value)
            self.result = value if isinstance(value, ast.Name | ast.Tuple | ast.List | ast.Dict) else self._new(value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            self._bind(name, ast.BinOp(ast.Name(name, ast.Load()), statement.op, statement.value))
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                self._bind(target.id, statement.value)
            elif isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
                value = self._flat(statement.value)
                names = [f"%{len(self.operations)}.{i}" for i in range(len(target.elts))]
                self.operations.append((names, value))
                self.values |= {e.id: n for e, n in zip(target.elts, names, strict=True) if isinstance(e, ast.Name)}
            else:
                raise _NotStraight
        else:
            raise _NotStraight

    def _bind(self, name: str, expression: ast.expr) -> None:
        value = self._flat(expression)
        value = value if isinstance(value, ast.Name) else self._new(value)
        self.values[name] = value.id

    def _new(self, expression: ast.expr) -> ast.Name:
        name = f"%{len(self.operations)}"
        self.operations.append(([name], expression))
        return ast.Name(name, ast.Load())

    def _flat(self, node: ast.expr) -> ast.expr:
        """`node` with its author's names replaced by values, and operations inside it moved to lines of their own."""
        if isinstance(node, ast.Name):
            return ast.Name(self.values.get(node.id, node.id), node.ctx)
        if isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.IfExp | ast.NamedExpr | ast.Await):
            raise _NotStraight
        node = copy.copy(node)
        for field, child in ast.iter_fields(node):
            if isinstance(child, ast.expr):
                setattr(node, field, self._operand(child))
            elif isinstance(child, list):
                setattr(node, field, [self._item(item) for item in child])
        return node

    def _item(self, item: Any) -> Any:
        if isinstance(item, ast.keyword):
            return ast.keyword(item.arg, self._operand(item.value))
        return self._operand(item) if isinstance(item, ast.expr) else item

    def _operand(self, node: ast.expr) -> ast.expr:
        flat = self._flat(node)
        return self._new(flat) if self._is_operation(node) else flat

    def _is_operation(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            return method not in _SIZES and self._reads_value(node)
        return isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp) and self._reads_value(node)

    def _reads_value(self, node: ast.expr) -> bool:
        """Does the expression read a tensor's values (not only its shape) or the module's own state?"""
        if isinstance(node, ast.Attribute) and node.attr in _METADATA:
            return False
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("size", "dim", "numel")
        ):
            return False
        if isinstance(node, ast.Name):
            return node.id in self.values or node.id == "self"
        return any(self._reads_value(c) for c in _parts(node))

    def _named(self) -> list[ast.stmt]:
        last: dict[str, int] = {}
        for index, (_, expression) in enumerate(self.operations):
            last |= dict.fromkeys(_names(expression), index)
        last |= {name: len(self.operations) for name in _names(self.result)}  # type: ignore[arg-type]
        where = {name: name for name in self.arguments}
        free = [name for name in FRESH if name not in self.taken] + [f"v{i}" for i in range(99)]
        lines: list[ast.stmt] = []
        for index, (defined, expression) in enumerate(self.operations):
            read = _names(expression)
            text = _rename(expression, where)
            dying = list(dict.fromkeys(where[n] for n in read if last.get(n) == index and n in where))
            held = {where[n] for n in where if last.get(n, -1) > index}
            pool = [name for name in dying if name not in held]
            for name in defined:
                where[name] = pool.pop(0) if pool else next(f for f in free if f not in held)
                held.add(where[name])
            targets: list[ast.expr] = [ast.Name(where[name], ast.Store()) for name in defined]
            target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
            lines.append(ast.Assign([target], text, lineno=0))
        return [*lines, ast.Return(_rename(self.result, where))]  # type: ignore[arg-type]


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif isinstance(child, ast.keyword):
            yield child.value


def _names(node: ast.AST) -> list[str]:
    """Names read, in the order written."""
    if isinstance(node, ast.Name):
        return [node.id]
    return [name for child in _parts(node) for name in _names(child)]


def _rename(node: ast.expr, where: dict[str, str]) -> ast.expr:
    node = copy.deepcopy(node)
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            child.id = where.get(child.id, child.id)
    return node
