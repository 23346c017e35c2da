"""Every Torch name that a piece of syntax tree mentions: functions, modules, Tensor methods and Python operators.

One walk serves both the miner and the resolver, so counts and checks agree. Source: issue 5.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kzlib.apis.catalogue import Kind, canonical, eligible, tensor_methods
from kzlib.apis.imports import STAR_MODULES, Imports

_LITERALS = (
    ast.Constant,
    ast.JoinedStr,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Tuple,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
)
# `x.view` without a call is a bound method, an attribute only for these.
_PROPERTIES = frozenset({"T", "mT", "H", "mH", "real", "imag"})
_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or_", ast.BitAnd: "and_", ast.BitXor: "xor",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_DYNAMIC = frozenset({"eval", "exec", "getattr", "setattr", "__import__", "globals", "locals", "vars", "compile"})

Reference = tuple[Kind, str, ast.AST]


def references(
    tree: ast.AST, imports: Imports, local: frozenset[str] = frozenset(), strict: bool = True
) -> Iterator[Reference]:
    """(kind, canonical name, node) for each mention below `tree`. `local`: names the file itself defines.

    What only a type test names (`isinstance(m, nn.Linear)`) is not a use. `strict=False` is for open code, where
    `a.b.T`, `x.sort()` and `self.net.norm(x)` more often belong to arrays, lists and layers; in a task, to tensors.
    """
    skip: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in skip:
            continue
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ):
            skip.update(below for arg in node.args[1:] for below in ast.walk(arg))
        if isinstance(node, ast.Attribute):
            dotted = imports.dotted(node)
            if dotted is not None:
                skip.update(_chain(node))
                if dotted.startswith("torch."):
                    yield (*canonical(dotted), node)
            elif (
                node.attr in _PROPERTIES
                and (strict or isinstance(node.value, ast.Name))
                and not _foreign(node.value, imports)
            ):
                yield (*canonical(f"torch.Tensor.{node.attr}"), node)
        elif isinstance(node, ast.Name) and node.id not in local:
            yield from _bare_name(node, imports)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if strict or not _open_code_layer(node):
                yield from _method_call(node, node.func, imports)
        else:
            yield from _operator(node)


def _chain(node: ast.AST) -> Iterator[ast.AST]:
    while isinstance(node, ast.Attribute):
        node = node.value
        yield node


def _bare_name(node: ast.Name, imports: Imports) -> Iterator[Reference]:
    dotted = imports.names.get(node.id)
    if dotted is not None:
        if dotted.startswith("torch."):
            yield (*canonical(dotted), node)
        elif dotted == "torch":
            yield "unknown", "torch as a value", node
        return
    if node.id in _DYNAMIC:
        yield "unknown", f"{node.id}()", node
        return
    for module in imports.stars:
        if module in STAR_MODULES:
            kind, name = canonical(f"{module}.{node.id}")
            if kind in ("api", "helper") or name in eligible():
                yield kind, name, node
                return


def _method_call(call: ast.Call, func: ast.Attribute, imports: Imports) -> Iterator[Reference]:
    method = func.attr
    plain = method.removesuffix("_") if not method.endswith("__") else method
    if plain not in tensor_methods() or imports.dotted(func) is not None or _foreign(func.value, imports):
        return
    if plain in _PROPERTIES or _text_method(plain, call):
        return
    yield (*canonical(f"torch.Tensor.{method}"), func)


def _open_code_layer(call: ast.Call) -> bool:
    """In open code: `items.sort()` sorts a list, `self.net.norm(x)` calls a layer named norm."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr == "sort":
        return not (call.args or call.keywords)
    return func.attr == "norm" and isinstance(func.value, ast.Attribute) and bool(call.args)


def _text_method(method: str, call: ast.Call) -> bool:
    """`name.split(".")` is about text."""
    return method == "split" and any(isinstance(arg, ast.Constant) and isinstance(arg.value, str) for arg in call.args)


def _foreign(receiver: ast.AST, imports: Imports) -> bool:
    """True where the receiver of a method cannot be a tensor: a module, a literal, `self`, another library's value."""
    if isinstance(receiver, _LITERALS):
        return True
    if isinstance(receiver, ast.Name):
        return receiver.id in ("self", "cls", "np", "math") or receiver.id in imports.names
    if isinstance(receiver, ast.Call):
        if isinstance(receiver.func, ast.Name) and receiver.func.id in (
            "super",
            "str",
            "list",
            "dict",
            "set",
            "sorted",
        ):
            return True
        dotted = imports.dotted(receiver.func)
        return dotted is not None and dotted.split(".")[0] in ("numpy", "math", "os", "re", "np")
    dotted = imports.dotted(receiver)
    return dotted is not None


def _operator(node: ast.AST) -> Iterator[Reference]:
    ops: list[ast.AST] = []
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp):
        ops = [node.op]
    elif isinstance(node, ast.Compare):
        ops = list(node.ops)
    elif isinstance(node, ast.Subscript):
        yield "helper", "operator.getitem", node
    for op in ops:
        if isinstance(op, ast.MatMult):
            yield "api", "torch.matmul", node
        elif type(op) in _OPERATORS:
            yield "helper", f"operator.{_OPERATORS[type(op)]}", node
