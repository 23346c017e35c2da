# ruff: noqa: SIM905 - tables of words
"""What a module is called with: rank, kind and equal sizes of its inputs, read from `get_inputs`' text alone.

A kernel that reads its sizes from its arguments needs no more than this; a small Coder that never sees numbers cannot
take them for meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kzlib.naming import ARGUMENTS

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVW"
_SIZED = frozenset({"randn", "rand", "zeros", "ones", "empty"})
_LIKE = frozenset({"randn_like", "rand_like", "zeros_like", "ones_like", "empty_like"})
_SAME = frozenset(
    "abs exp log sqrt rsqrt sign sigmoid tanh relu softmax log_softmax normalize clamp clamp_min clamp_max square "
    "neg contiguous float to cuda cpu requires_grad_ detach clone uniform_ normal_ sin cos floor round ceil "
    "softplus".split()
)
_KINDS = {"long": "int", "int": "int", "int64": "int", "int32": "int", "bool": "bool", "float": "", "float32": ""}
_KINDS |= {"half": "half", "float16": "half", "bfloat16": "bf16", "double": "double", "float64": "double"}


@dataclass(frozen=True, slots=True)
class Input:
    """One argument: the sizes of a tensor, or the text of anything that is a plain number."""

    sizes: tuple[int, ...] = ()
    kind: str = ""  # "" is float32
    literal: str = ""


class UnreadableError(ValueError):
    """The function's shapes are not plain literals."""


def signature(get_inputs: ast.FunctionDef) -> str | None:
    """`x[A, B], y[B, C]`: equal letters are equal sizes, 1 stays 1; None if the shapes cannot be read.

    >>> tree = ast.parse("def get_inputs(): return [3 * torch.randn(5, 7), torch.randint(0, 9, (7, 1))]")
    >>> signature(tree.body[0])
    'x[A, B], y int[B, 1]'
    """
    try:
        inputs = _returned(get_inputs)
    except UnreadableError:
        return None
    lettered = _lettered([i.sizes for i in inputs])
    if len(inputs) > len(ARGUMENTS) or lettered is None:
        return None
    return ", ".join(_shown(*one) for one in zip(ARGUMENTS, inputs, lettered, strict=False))


def _lettered(shapes: list[tuple[int, ...]]) -> list[list[str]] | None:
    """A letter a size: sizes of one input differ, a later input takes the letter of an equal size, nearest by place."""
    used: list[tuple[str, int, int, int]] = []  # letter, size, place from the left, place from the right
    out: list[list[str]] = []
    for sizes in shapes:
        letters: list[str] = []
        for at, size in enumerate(sizes):
            end = at - len(sizes)
            same = [u for u in used if u[1] == size and u[0] not in letters]
            best = min(same, key=lambda u: (u[2] != at and u[3] != end, u[0]), default=None)
            if size == 1:
                letters.append("1")
            elif best is not None and out:
                letters.append(best[0])
            else:
                if len(used) == len(LETTERS):
                    return None
                used.append((LETTERS[len(used)], size, at, end))
                letters.append(used[-1][0])
        out.append(letters)
    return out


def _shown(name: str, one: Input, letters: list[str]) -> str:
    return f"{name}={one.literal}" if one.literal else f"{name}{one.kind and ' ' + one.kind}[{', '.join(letters)}]"


def _returned(function: ast.FunctionDef) -> list[Input]:
    known: dict[str, list[Input]] = {}
    for line in function.body:
        if isinstance(line, ast.Return) and line.value is not None:
            return _several(line.value, known)
        if isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name):
            known[line.targets[0].id] = _several(line.value, known)
        elif not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)):
            raise UnreadableError
    raise UnreadableError


def _several(node: ast.expr, known: Mapping[str, list[Input]]) -> list[Input]:
    """The inputs an expression stands for: a list has many, anything else one."""
    if isinstance(node, ast.List | ast.Tuple):
        return [i for item in node.elts for i in _several(item, known)]
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.ListComp) and len(node.generators) == 1 and not node.generators[0].ifs:
        turns = node.generators[0].iter
        if isinstance(turns, ast.Call) and ast.unparse(turns.func) == "range" and len(turns.args) == 1:
            return _several(node.elt, known) * _integers(turns.args)[0]
    return [_one(node, known)]


def _one(node: ast.expr, known: Mapping[str, list[Input]]) -> Input:
    if isinstance(node, ast.Name) and len(known.get(node.id, ())) == 1:
        return known[node.id][0]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | bool):
        return Input(literal=repr(node.value))
    if isinstance(node, ast.UnaryOp):
        inner = _one(node.operand, known)
        return Input(literal=ast.unparse(node)) if inner.literal else inner
    if isinstance(node, ast.BinOp | ast.Compare):
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
        joined = _broadcast(_one(side, known) for side in sides)
        return replace(joined, kind="bool") if isinstance(node, ast.Compare) else joined
    if isinstance(node, ast.Attribute) and node.attr == "T":
        inner = _one(node.value, known)
        return replace(inner, sizes=inner.sizes[::-1])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _called(node, node.func, known)
    raise UnreadableError


def _broadcast(inputs: Iterable[Input]) -> Input:
    tensors = [i for i in inputs if not i.literal]
    if not tensors or any(i.sizes not in (tensors[0].sizes, ()) for i in tensors[1:]):
        raise UnreadableError
    return tensors[0]


def _called(node: ast.Call, function: ast.Attribute, known: Mapping[str, list[Input]]) -> Input:
    name, owner = function.attr, ast.unparse(function.value)
    named = {k.arg: k.value for k in node.keywords}
    if owner not in ("torch", "F"):
        return _transformed(name, _one(function.value, known), node.args, named)
    kind = _kind(named.get("dtype"))
    if name in _SIZED or name == "normal":
        return Input(_sizes([named["size"]] if "size" in named else node.args), kind)
    if name == "randint":
        sizes = named.get("size", node.args[-1] if node.args else None)
        if sizes is None:
            raise UnreadableError
        return Input(_sizes([sizes]), kind if "dtype" in named else "int")
    if name in ("randperm", "arange") and len(node.args) == 1:
        return Input(_sizes(node.args), kind if "dtype" in named else "int")
    if name == "full" and node.args:
        return Input(_sizes(node.args[:1]), kind)
    if name in _LIKE and node.args:
        return replace(_one(node.args[0], known), kind=kind)
    if node.args:
        return _transformed(name, _one(node.args[0], known), node.args[1:], named)
    raise UnreadableError


def _transformed(name: str, inner: Input, arguments: list[ast.expr], named: Mapping[str | None, ast.expr]) -> Input:
    if "dtype" in named or (name == "to" and arguments and _names_kind(arguments[0])):
        return replace(inner, kind=_kind(named.get("dtype", arguments[0] if arguments else None)))
    if name in _SAME:
        return inner
    if name in _KINDS:
        return replace(inner, kind=_KINDS[name])
    sizes = list(inner.sizes)
    if name == "t" and len(sizes) == 2:
        return replace(inner, sizes=inner.sizes[::-1])
    if name == "transpose" and len(arguments) == 2:
        a, b = _integers(arguments)
        sizes[a], sizes[b] = sizes[b], sizes[a]
        return replace(inner, sizes=tuple(sizes))
    if name == "unsqueeze" and len(arguments) == 1:
        at = _integers(arguments)[0]
        sizes.insert(at if at >= 0 else len(sizes) + 1 + at, 1)
        return replace(inner, sizes=tuple(sizes))
    raise UnreadableError


def _names_kind(node: ast.expr) -> bool:
    return ast.unparse(node).removeprefix("torch.") in _KINDS


def _kind(node: ast.expr | None) -> str:
    if node is None:
        return ""
    if not _names_kind(node):
        raise UnreadableError
    return _KINDS[ast.unparse(node).removeprefix("torch.")]


def _sizes(arguments: list[ast.expr]) -> tuple[int, ...]:
    flat: list[ast.expr] = []
    for argument in arguments:
        item = argument.value if isinstance(argument, ast.Starred) else argument
        flat += item.elts if isinstance(item, ast.Tuple | ast.List) else [item]
    return tuple(_integers([i.value if isinstance(i, ast.Starred) else i for i in flat]))


def _integers(nodes: Iterable[ast.expr]) -> list[int]:
    """Plain whole numbers, and tuples of them spread out."""
    found: list[int] = []
    for node in nodes:
        try:
            value = ast.literal_eval(node)
        except ValueError as error:
            raise UnreadableError from error
        many = value if isinstance(value, tuple | list) else (value,)
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in many):
            raise UnreadableError
        found += many
    return found
