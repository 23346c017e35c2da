"""What a task computes, as a graph of values: names, comments, constants and the order of independent lines are gone.

Each value is a node ("relu", the nodes it reads). Two modules compute alike when their outputs are equal nodes. Reading
is by syntax tree; Python that is not straight-line (loops, branches) is folded into one node a statement. Issue 5.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kzlib.apis.catalogue import canonical, catalogue
from kzlib.apis.imports import Imports
from kzlib.apis.resolve import ENTRY
from kzlib.valuegraph import Node, ValueGraph

# Values that pass through unchanged.
_TRANSPARENT = frozenset({
    "torch.clone", "torch.Tensor.clone", "torch.Tensor.contiguous", "torch.detach", "torch.nn.Identity",
})  # fmt: skip
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "matmul",
    ast.Mod: "remainder", ast.FloorDiv: "floor_divide", ast.USub: "neg", ast.Invert: "bitwise_not",
    ast.Gt: "gt", ast.GtE: "ge", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne",
    ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or", ast.BitXor: "bitwise_xor",
}  # fmt: skip
_COMMUTE = frozenset(
    {"add", "mul", "maximum", "minimum", "eq", "ne", "bitwise_and", "bitwise_or", "logical_and", "logical_or"}
)
_SAME = {"multiply": "mul", "true_divide": "div", "mm": "matmul", "bmm": "matmul"}
_DEPTH = 12

NUMBER = "#"
# Operator classes whose layers hold weights: two of them on one input give two values.
WEIGHTED = frozenset({"matmul", "conv", "transposed conv", "norm layer", "recurrent", "attention", "index/embedding"})


def graph_of(source: str, entry: str = ENTRY) -> ValueGraph:
    """The graph of a module's `forward`. Text that does not parse raises `SyntaxError`; no such class, `ValueError`.

    >>> head = "import torch\\nclass Model(torch.nn.Module):\\n    def forward(self, x, y):\\n        "
    >>> a = graph_of(head + "z = x.relu(); return z + y * 2")
    >>> b = graph_of(head + "scaled = 3 * y; return scaled + torch.relu(x)  # other")
    >>> a.digest() == b.digest(), sorted(a.operators())
    (True, ['add', 'mul', 'relu'])
    """
    tree = ast.parse(source)
    reader = _Reader(tree)
    cls = reader.classes.get(entry)
    if cls is None:
        raise ValueError(f"no class {entry} in the text: a task defines class {entry}")
    forward = next((s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == "forward"), None)
    if forward is None:
        raise ValueError(f"class {entry} has no forward: a task's class computes in forward")
    names = [a.arg for a in [*forward.args.posonlyargs, *forward.args.args, *forward.args.kwonlyargs]][1:]
    required = len(names) - len(forward.args.defaults) - len(forward.args.kwonlyargs)
    reader.graph.parameters = tuple(names[:required])
    inputs = [reader.graph.node(f"input {i}") for i in range(len(names))]
    reader.graph.outputs = reader.run_method(cls, "forward", inputs, {}, 0)
    return reader.graph


@dataclass(slots=True)
class _Frame:
    """Where an expression is read: local values, the values of `self`, the class, how deep in calls."""

    local: dict[str, Node]
    own: dict[str, Node]
    cls: ast.ClassDef | None
    depth: int
    returns: list[Node] = field(default_factory=list)


class _Reader:
    """Reads a file's expressions into one graph."""

    def __init__(self, tree: ast.Module) -> None:
        self.graph = ValueGraph()
        self.imports = Imports(tree)
        self.classes = {s.name: s for s in tree.body if isinstance(s, ast.ClassDef)}
        self.functions = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
        self.constants = {
            t.id: s.value for s in tree.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)
        }
        self.concepts = {api.name: api.concept for api in catalogue()}
        self.classes_of = {api.name: api.operator_class for api in catalogue()}
        self.instances = 0

    # -- classes and functions ------------------------------------------------------------------------------------

    def run_method(
        self, cls: ast.ClassDef, name: str, args: list[Node], own: dict[str, Node], depth: int
    ) -> list[Node]:
        """Nodes that a method returns; attributes come from `__init__`."""
        methods = {s.name: s for s in cls.body if isinstance(s, ast.FunctionDef)}
        if not own and "__init__" in methods and name != "__init__":
            self._run(methods["__init__"], [], own, cls, depth, skip_self=True)
        return self._run(methods[name], args, own, cls, depth, skip_self=True)

    def _run(
        self, function: ast.FunctionDef, args: list[Node], own: dict[str, Node], cls: ast.ClassDef | None, depth: int,
        skip_self: bool = False,
    ) -> list[Node]:  # fmt: skip
        names = [a.arg for a in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]]
        names = names[1:] if skip_self else names
        local = {name: self.graph.node("argument") for name in names}
        local.update(zip(names, args, strict=False))
        frame = _Frame(local, own, cls, depth)
        self._block(function.body, frame)
        return frame.returns

    # -- statements -----------------------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], frame: _Frame) -> None:
        for stmt in body:
            self._statement(stmt, frame)

    def _statement(self, stmt: ast.stmt, frame: _Frame) -> None:
        if isinstance(stmt, ast.Assign):
            value = self.read(stmt.value, frame)
            for target in stmt.targets:
                self._bind(target, value, frame, stmt.value)
        elif isinstance(stmt, ast.AnnAssign) and stmt.value is not None:
            self._bind(stmt.target, self.read(stmt.value, frame), frame, stmt.value)
        elif isinstance(stmt, ast.AugAssign):
            sides = [self.read(stmt.target, frame), self.read(stmt.value, frame)]
            self._bind(stmt.target, self._apply(_label(stmt.op), sides), frame, None)
        elif isinstance(stmt, ast.Return) and stmt.value is not None:
            parts = stmt.value.elts if isinstance(stmt.value, ast.Tuple | ast.List) else [stmt.value]
            frame.returns += [self.read(part, frame) for part in parts]
        elif isinstance(stmt, ast.Expr):
            self._effect(stmt.value, frame)
        elif isinstance(stmt, ast.For | ast.While | ast.If | ast.With | ast.Try):
            self._compound(stmt, frame)

    def _bind(self, target: ast.expr, value: Node, frame: _Frame, source: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            frame.local[target.id] = value
        elif isinstance(target, ast.Attribute) and _is_self(target.value):
            frame.own[target.attr] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for i, part in enumerate(target.elts):
                given = source.elts[i] if isinstance(source, ast.Tuple | ast.List) and i < len(source.elts) else None
                item = self.read(given, frame) if given is not None else self.graph.node(f"item {i}", value)
                self._bind(part, item, frame, None)
        elif isinstance(target, ast.Subscript):
            base = self.read(target.value, frame)
            self._bind(
                target.value, self.graph.node("setitem", base, self.read(target.slice, frame), value), frame, None
            )

    def _effect(self, value: ast.expr, frame: _Frame) -> None:
        """A call as a statement may change its receiver: `x.add_(1)`, `outputs.append(x)`."""
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not _is_super(value.func.value):
            changed = self.read(value, frame)
            if not _is_self(value.func.value) and self.imports.dotted(value.func) is None:
                self._bind(value.func.value, changed, frame, None)

    def _compound(self, stmt: ast.stmt, frame: _Frame) -> None:
        """A loop or branch: names it binds become one node over its condition, their old and their new values."""
        before = dict(frame.local)
        heads = [getattr(stmt, name) for name in ("test", "iter") if hasattr(stmt, name)]
        head = self.graph.node(type(stmt).__name__, *(self.read(h, frame) for h in heads))
        if isinstance(stmt, ast.For):
            self._bind(stmt.target, self.graph.node("loop value", head), frame, None)
        after_returns = len(frame.returns)
        self._block(stmt.body, frame)  # type: ignore[attr-defined]
        then = dict(frame.local)
        frame.local = dict(before)
        self._block(getattr(stmt, "orelse", []), frame)
        if isinstance(stmt, ast.With | ast.Try):
            frame.local.update({k: v for k, v in then.items() if before.get(k) != v})
            return
        frame.returns[after_returns:] = [self.graph.node("returned", head, r) for r in frame.returns[after_returns:]]
        for name in {k for k in then.keys() | frame.local.keys() if then.get(k) != frame.local.get(k)}:
            values = [v for v in (then.get(name), frame.local.get(name)) if v is not None]
            frame.local[name] = self.graph.node("chosen", head, *values)

    # -- expressions ----------------------------------------------------------------------------------------------

    def read(self, expr: ast.expr, frame: _Frame) -> Node:
        """The node of an expression."""
        if isinstance(expr, ast.Constant):
            number = isinstance(expr.value, int | float | complex) and not isinstance(expr.value, bool)
            return self.graph.node(NUMBER if number else repr(expr.value))
        if isinstance(expr, ast.Name):
            return self._name(expr, frame)
        if isinstance(expr, ast.Attribute):
            return self._attribute(expr, frame)
        if isinstance(expr, ast.Call):
            return self._call(expr, frame)
        if isinstance(expr, ast.BinOp):
            return self._apply(_label(expr.op), [self.read(expr.left, frame), self.read(expr.right, frame)])
        if isinstance(expr, ast.UnaryOp):
            return self._apply(_label(expr.op), [self.read(expr.operand, frame)])
        if isinstance(expr, ast.Compare) and len(expr.ops) == 1:
            sides = [self.read(expr.left, frame), self.read(expr.comparators[0], frame)]
            return self._apply(_label(expr.ops[0]), sides)
        if isinstance(expr, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return self._comprehension(expr, frame)
        children = [self.read(c, frame) for c in ast.iter_child_nodes(expr) if isinstance(c, ast.expr)]
        if isinstance(expr, ast.Tuple | ast.List) and all(self.graph.label(c) == NUMBER for c in children):
            return self.graph.node(NUMBER)
        if isinstance(expr, ast.UnaryOp | ast.Slice) and all(self.graph.label(c) == NUMBER for c in children):
            return self.graph.node(NUMBER)
        return self.graph.node(type(expr).__name__, *children)

    def _comprehension(self, expr: ast.ListComp | ast.GeneratorExp | ast.SetComp, frame: _Frame) -> Node:
        inner = _Frame(dict(frame.local), frame.own, frame.cls, frame.depth)
        for part in expr.generators:
            self._bind(part.target, self.graph.node("loop value", self.read(part.iter, inner)), inner, None)
        return self.graph.node("comprehension", self.read(expr.elt, inner))

    def _name(self, expr: ast.Name, frame: _Frame) -> Node:
        if expr.id in frame.local:
            return frame.local[expr.id]
        if expr.id in self.constants and frame.depth < _DEPTH:
            return self.read(self.constants[expr.id], _Frame({}, {}, None, frame.depth + 1))
        return self.graph.node(f"name {self.imports.names.get(expr.id, expr.id)}")

    def _attribute(self, expr: ast.Attribute, frame: _Frame) -> Node:
        if _is_self(expr.value):
            return frame.own[expr.attr] if expr.attr in frame.own else self.graph.node(f"self {expr.attr}")
        dotted = self.imports.dotted(expr)
        if dotted is not None:
            return self.graph.node(f"name {dotted}")
        if expr.attr == "T":
            return self._apply("t", [self.read(expr.value, frame)])
        return self.graph.node(f"attribute {expr.attr}", self.read(expr.value, frame))

    def _arguments(self, call: ast.Call, frame: _Frame) -> list[Node]:
        """Operands without numbers; keywords by name, in the order of names."""
        positional = [self.read(a.value if isinstance(a, ast.Starred) else a, frame) for a in call.args]
        named = [(k.arg or "**", self.read(k.value, frame)) for k in sorted(call.keywords, key=lambda k: k.arg or "")]
        kept = [n for n in positional if not self._is_setting(n)]
        return kept + [
            value if value in kept else self.graph.node(f"keyword {name}", value)
            for name, value in named
            if not self._is_setting(value)
        ]

    def _is_setting(self, node: Node) -> bool:
        """Numbers, and arguments of the constructor, which carry numbers."""
        return self.graph.label(node) in (NUMBER, "argument")

    def _call(self, call: ast.Call, frame: _Frame) -> Node:
        func = call.func
        arguments = self._arguments(call, frame)
        if isinstance(func, ast.Attribute) and _is_self(func.value):
            return self._call_own(func.attr, arguments, frame)
        dotted = self.imports.dotted(func)
        if dotted is not None:
            return self._call_dotted(dotted, arguments)
        if isinstance(func, ast.Name):
            return self._call_name(func.id, arguments, frame)
        if isinstance(func, ast.Attribute):
            receiver = self.read(func.value, frame)
            kind, name = canonical(f"torch.Tensor.{func.attr}")
            if name in _TRANSPARENT:
                return receiver
            if kind == "api":
                return self._apply(self.concepts[name], [receiver, *arguments])
            return self.graph.node(f"method {func.attr}", receiver, *arguments)
        return self._call_value(self.read(func, frame), arguments)

    def _call_own(self, name: str, arguments: list[Node], frame: _Frame) -> Node:
        if name in frame.own:
            return self._call_value(frame.own[name], arguments)
        methods = {s.name for s in frame.cls.body if isinstance(s, ast.FunctionDef)} if frame.cls else set()
        if frame.cls is not None and name in methods and frame.depth < _DEPTH:
            function = next(s for s in frame.cls.body if isinstance(s, ast.FunctionDef) and s.name == name)
            results = self._run(function, arguments, frame.own, frame.cls, frame.depth + 1, skip_self=True)
            return results[0] if len(results) == 1 else self.graph.node("returned", *results)
        return self.graph.node(f"self {name}", *arguments)

    def _call_dotted(self, dotted: str, arguments: list[Node]) -> Node:
        kind, name = canonical(dotted)
        if name in _TRANSPARENT and arguments:
            return arguments[0]
        if kind == "api" and name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
            return self.graph.node(f"module {self.concepts[name]}", *arguments, instance=self._instance(name))
        if kind == "api":
            return self._apply(self.concepts[name], arguments)
        if name.endswith("nn.Parameter"):
            return self.graph.node("parameter", instance=self._instance(name))
        if kind == "unknown" and name:
            return self.graph.node(name, *arguments, operator=True)
        return self.graph.node(f"call {name or dotted}", *arguments)

    def _call_name(self, name: str, arguments: list[Node], frame: _Frame) -> Node:
        if name in frame.local:
            return self._call_value(frame.local[name], arguments)
        if name in self.classes and frame.depth < _DEPTH:
            inner = self._class_outputs(self.classes[name], frame.depth + 1)
            return self.graph.node("class", *inner, *arguments)
        if name in self.functions and frame.depth < _DEPTH:
            results = self._run(self.functions[name], arguments, {}, None, frame.depth + 1)
            return results[0] if len(results) == 1 else self.graph.node("returned", *results)
        return self.graph.node(f"call {name}", *arguments)

    def _class_outputs(self, cls: ast.ClassDef, depth: int) -> list[Node]:
        forward = next((s for s in cls.body if isinstance(s, ast.FunctionDef) and s.name == "forward"), None)
        if forward is None:
            return []
        inputs = [self.graph.node(f"inner input {i}") for i in range(len(forward.args.args) - 1)]
        return self.run_method(cls, "forward", inputs, {}, depth)

    def _call_value(self, value: Node, arguments: list[Node]) -> Node:
        """Calling a module: nn.ReLU()(x) is relu(x); its own settings are operands."""
        label, settings = self.graph.nodes[value]
        if label == "call torch.nn.Sequential" and len(arguments) == 1:
            for part in settings:
                arguments = [self._call_value(part, arguments)]
            return arguments[0]
        if label.startswith("module "):
            return self._apply(label.removeprefix("module "), [*arguments, *settings], self.graph.instance(value))
        return self.graph.node("apply", value, *arguments, operator=True)

    def _instance(self, name: str) -> int:
        """A new number for each layer with weights; layers without are all alike."""
        weightless = name in self.classes_of and self.classes_of[name] not in WEIGHTED
        self.instances += not weightless
        return 0 if weightless else self.instances

    def _apply(self, concept: str, operands: list[Node], instance: int = 0) -> Node:
        """One operator over its tensor operands; numbers are dropped unless nothing else is left."""
        kept = [o for o in operands if not self._is_setting(o)]
        if not kept and operands:
            return self.graph.node(NUMBER)
        concept = _SAME.get(concept, concept)
        if concept in _COMMUTE:
            kept.sort(key=self.graph.digests.__getitem__)
        return self.graph.node(concept, *kept, operator=True, instance=instance)


def _label(operator: ast.AST) -> str:
    return _OPERATORS.get(type(operator), type(operator).__name__)


def _is_super(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Call) and isinstance(expr.func, ast.Name) and expr.func.id == "super"


def _is_self(expr: ast.expr) -> bool:
    return isinstance(expr, ast.Name) and expr.id == "self"
