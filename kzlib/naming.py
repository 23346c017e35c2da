"""One set of names for the arguments and layers of any module, so that modules which compute alike also look alike.

A small Coder then need not learn to copy names: the weights of a module under these names are matched by order and
shape. By syntax tree alone: nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

ARGUMENTS = ("x", "y", "z", "w", "a", "b", "c", "d")
SIZES = ("n", "m", "k", "l", "p", "q", "r", "s", "t", "u", "v", "e")
# What a layer is called, by a part of its class's name; the first that fits.
LAYERS = (
    ("Norm", "norm"), ("Conv", "conv"), ("Pool", "pool"), ("Pad", "pad"), ("Bilinear", "bilinear"), ("Linear", "fc"),
    ("Embedding", "embedding"), ("Attention", "attention"), ("Loss", "loss"), ("Upsampl", "up"),
    ("Parameter", "weight"),
    ("max", "softmax"), ("Shuffle", "shuffle"), ("nflatten", "shape"), ("Flatten", "shape"), ("Unfold", "unfold"),
    ("Fold", "fold"), ("Dropout", "drop"), ("Similarity", "distance"), ("Distance", "distance"),
)  # fmt: skip
OTHER_LAYER = "act"


def named_alike(source: str, entry: str = "Model") -> str:
    """The same module with forward's arguments, the constructor's arguments and the layers under standing names.

    >>> print(named_alike("class Model:\\n    def forward(self, query, bias):\\n        return query @ bias"))
    class Model:
        def forward(self, x, y):
            return x @ y
    """
    tree = ast.parse(source)
    model = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == entry), None)
    if model is None:
        return source
    layers = list(_layers(model))
    new_layers = _layer_names(model, {a.attr for a in layers})
    edits = [(a.end_lineno or 0, (a.end_col_offset or 0) - len(a.attr), a.attr, new_layers[a.attr]) for a in layers]
    for method in model.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "forward"):
            edits += _argument_edits(method, SIZES if method.name == "__init__" else ARGUMENTS)
    return _edited(source, edits)


def _own(model: ast.ClassDef) -> Iterator[ast.Attribute]:
    for node in ast.walk(model):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node


def _layers(model: ast.ClassDef) -> Iterator[ast.Attribute]:
    """`self.<layer>` wherever it stands, for layers that the constructor makes by a call."""
    made = {
        target.attr
        for node in ast.walk(model)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    }
    return (node for node in _own(model) if node.attr in made)


def _layer_names(model: ast.ClassDef, layers: set[str]) -> dict[str, str]:
    used = {node.attr for node in _own(model)} - layers
    out: dict[str, str] = {}
    for node in ast.walk(model):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        called = ast.unparse(node.value.func).rpartition(".")[2]
        base = next((name for part, name in LAYERS if part in called), OTHER_LAYER)
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in layers and target.attr not in out:
                out[target.attr] = _free(base, used)
                used.add(out[target.attr])
    return out


def _free(base: str, used: Iterable[str]) -> str:
    name, k = base, 2
    while name in used:
        name, k = f"{base}{k}", k + 1
    return name


def _argument_edits(method: ast.FunctionDef, pool: tuple[str, ...]) -> list[tuple[int, int, str, str]]:
    arguments = [a for a in method.args.args[1:] if a.arg not in {k.arg for k in _keywords(method)}]
    names = {a.arg for a in arguments}
    taken = {n.id for n in ast.walk(method) if isinstance(n, ast.Name)} - names
    taken |= {a.arg for a in method.args.args[1:]} - names
    free = [name for name in pool if name not in taken]
    new = dict(zip([a.arg for a in arguments], free, strict=False))
    uses = [(a.lineno, a.col_offset, a.arg) for a in arguments]
    uses += [(n.lineno, n.col_offset, n.id) for n in ast.walk(method) if isinstance(n, ast.Name)]
    return [(line, column, name, new[name]) for line, column, name in uses if name in new]


def _keywords(method: ast.FunctionDef) -> Iterator[ast.arg]:
    yield from method.args.kwonlyargs
    defaults = method.args.defaults
    if defaults:
        yield from method.args.args[-len(defaults) :]  # may be passed by name


def _edited(source: str, edits: list[tuple[int, int, str, str]]) -> str:
    lines = source.split("\n")
    for line, column, old, new in sorted(set(edits), reverse=True):
        text = lines[line - 1].encode()
        if text[column : column + len(old)] != old.encode():
            raise AssertionError(f"line {line} does not hold {old!r} at {column}")
        lines[line - 1] = (text[:column] + new.encode() + text[column + len(old) :]).decode()
    return "\n".join(lines)
