"""Other names for a module's arguments and layers, so that a model learns to copy names instead of knowing them."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence

ARGUMENTS = (
    "x",
    "y",
    "a",
    "b",
    "q",
    "k",
    "data",
    "hidden",
    "inputs",
    "left",
    "right",
    "scores",
    "values",
    "signal",
    "mask",
)
SIZES = (
    "width",
    "inputs",
    "outputs",
    "channels",
    "size",
    "hidden",
    "features",
    "units",
    "dim",
    "groups",
    "length",
    "words",
)
LAYERS = (
    "layer", "fc", "linear", "proj", "conv", "norm", "act", "gate", "up", "down", "pool", "scale", "shift", "weight",
    "bias", "op", "head", "table", "block", "mix",
)  # fmt: skip
KEEP = 0.4  # share of names left as they were


def rename(source: str, rng: random.Random) -> str:
    """The same module under other names of forward's arguments, the constructor's arguments and the layers.

    >>> print(rename("class Model:\\n    def forward(self, x):\\n        return x.exp()", random.Random(5)))
    class Model:
        def forward(self, values):
            return values.exp()
    """
    tree = ast.parse(source)
    model = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Model")
    edits: list[tuple[int, int, str, str]] = []  # line, column, old, new
    attributes = sorted({a.attr for a in _layers(model)})
    new_layers = _drawn(attributes, LAYERS, rng)
    edits += [
        (a.end_lineno or 0, (a.end_col_offset or 0) - len(a.attr), a.attr, new_layers[a.attr]) for a in _layers(model)
    ]
    for method in model.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "forward"):
            names = [a.arg for a in method.args.args[1:]]
            local = {n.id for n in ast.walk(method) if isinstance(n, ast.Name)} - set(names)
            new = _drawn(names, SIZES if method.name == "__init__" else ARGUMENTS, rng, taken=local)
            edits += [(a.lineno, a.col_offset, a.arg, new[a.arg]) for a in method.args.args[1:]]
            edits += [
                (n.lineno, n.col_offset, n.id, new[n.id])
                for n in ast.walk(method)
                if isinstance(n, ast.Name) and n.id in new
            ]
    return _edited(source, edits)


def _layers(model: ast.ClassDef) -> Iterator[ast.Attribute]:
    """`self.<layer>` wherever it stands, for layers the constructor makes."""
    own = [
        n
        for n in ast.walk(model)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
    ]
    made = {n.attr for n in own if isinstance(n.ctx, ast.Store)}
    return (n for n in own if n.attr in made)


def _drawn(
    names: Sequence[str], pool: Sequence[str], rng: random.Random, taken: set[str] | None = None
) -> dict[str, str]:
    """A new name for most of `names`, all different, none of them `taken`."""
    used = set(taken or ()) | set(names)
    out = {}
    for name in names:
        free = [other for other in pool if other not in used]
        out[name] = name if rng.random() < KEEP or not free else rng.choice(free)
        used.add(out[name])
    return out


def _edited(source: str, edits: list[tuple[int, int, str, str]]) -> str:
    lines = source.split("\n")
    for line, column, old, new in sorted(set(edits), reverse=True):
        text = lines[line - 1].encode()
        if text[column : column + len(old)] != old.encode():
            raise AssertionError(f"line {line} does not hold {old!r} at {column}")
        lines[line - 1] = (text[:column] + new.encode() + text[column + len(old) :]).decode()
    return "\n".join(lines)
