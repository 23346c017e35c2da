# ruff: noqa: SIM905 - tables of words
"""A module's constructor at its shortest: settings in place, layers without weights as functions, no boilerplate.

What is left says which weights there are. By syntax tree alone: nothing is executed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable

from kzlib.apis.imports import Imports
from kzlib.naming import SIZES
from kzlib.spelling import stateless

# Where a number is a size of weights, not a setting: the layer, and which of its arguments.
_SIZE_ARGUMENTS = {
    "Linear": 2, "Bilinear": 3, "Embedding": 2, "LayerNorm": 1, "RMSNorm": 1, "PReLU": 1,
    **{f"{kind}{n}d": 2 for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)},
    **{f"{kind}Norm{n}d": 1 for kind in ("Batch", "Instance") for n in (1, 2, 3)},
    "randn": 9, "rand": 9, "zeros": 9, "ones": 9, "empty": 9, "full": 1,
}  # fmt: skip
_MAKERS = frozenset({"randn", "rand", "zeros", "ones", "empty", "full"})
_IMPORTS = (("F", "import torch.nn.functional as F\n"), ("torch", "import torch\n"))  # what functions are called by
_SIZE_KEYWORDS = frozenset(
    "in_channels out_channels in_features out_features num_features num_channels normalized_shape num_embeddings "
    "embedding_dim num_parameters in1_features in2_features size".split()
)


def settled_source(source: str, entry: str = "Model") -> str:
    """A task's text, to be run, with the constructor of its module settled; unchanged where that cannot be done."""
    tree = ast.parse(source)
    values = init_values(tree)
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == entry):
        if not settle(cls, values):
            return source
        for init in (i for i in cls.body if isinstance(i, ast.FunctionDef) and i.name == "__init__"):
            kept = [line for line in init.body if not isinstance(line, ast.Pass)]
            init.body = [ast.parse("super().__init__()").body[0], *kept]
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    missing = [line for name, line in _IMPORTS if name not in Imports(tree).names and f"{name}." in text]
    return "".join(missing) + text


def init_values(tree: ast.Module) -> list[ast.expr] | None:
    """The literal arguments that `get_init_inputs` gives the constructor; module-level numbers by name count."""
    known = {
        name.id: value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for name, value in assigned(node.targets[0], node.value)
        if isinstance(name, ast.Name) and is_literal(value)
    }
    made = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_init_inputs"), None)
    body = made.body if made else []
    if len(body) == 1 and isinstance(body[0], ast.Return) and isinstance(body[0].value, ast.List):
        values = [known.get(v.id, v) if isinstance(v, ast.Name) else v for v in body[0].value.elts]
        return values if all(is_literal(v) for v in values) else None
    return None


def assigned(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """An assignment's targets with their values, a tuple's one by one."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def settle(cls: ast.ClassDef, values: list[ast.expr] | None) -> bool:
    """Shorten `cls` in place, given the constructor's arguments; False if some of them stay unknown.

    >>> tree = ast.parse('''
    ... class Model(nn.Module):
    ...     def __init__(self, n, m, k, slope=0.1):
    ...         super().__init__()
    ...         self.conv = nn.Conv2d(n, m, k)
    ...         self.act = nn.LeakyReLU(slope)
    ...     def forward(self, x):
    ...         return self.act(self.conv(x))
    ... ''')
    >>> settle(tree.body[0], [ast.Constant(4), ast.Constant(8), ast.Constant(3)])
    True
    >>> print(ast.unparse(ast.fix_missing_locations(tree)))
    class Model(nn.Module):
    <BLANKLINE>
        def __init__(self, n, m, *settings):
            self.conv = nn.Conv2d(n, m, 3)
    <BLANKLINE>
        def forward(self, x):
            return F.leaky_relu(self.conv(x), 0.1)
    """
    init = next((item for item in cls.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"), None)
    if init is None:
        return not values
    known = _arguments(init, values or [])
    init.body = [_Weights().visit(line) for line in init.body if not _is_boilerplate(line)]
    inline = _Inline(init)
    for item in cls.body:
        inline.visit(item)
    init.body = [line for line in init.body if not inline.covers(line)]
    if not init.body and len(init.args.args) == 1 and init.args.vararg is None:
        cls.body.remove(init)
    elif not init.body:
        init.body = [ast.Pass()]
    return known


def _arguments(init: ast.FunctionDef, values: list[ast.expr]) -> bool:
    """Settings get their values; where a size of weights stands, a standing name by position. What comes after the last
    of these is one `*settings`: nobody has to count arguments that nothing reads."""
    spec = init.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs:
        return False
    names = [a.arg for a in spec.args[1:]]
    given = dict(zip(names, values, strict=False))
    defaults = dict(zip(names[::-1], spec.defaults[::-1], strict=False))
    missing = [name for name in names if name not in given and name not in defaults]
    if missing or len(values) > len(names) or len(values) > len(SIZES):
        return False
    new = dict(zip(given, SIZES, strict=False))
    for node in _size_places(init):
        if node.id in given and _is_number(given[node.id]):
            node.id = f".{new[node.id]}"  # no name of the author's
    change = defaults | given | {f".{name}": ast.Name(name, ast.Load()) for name in new.values()}
    init.body = [_Replace(change).visit(line) for line in init.body]
    read = {node.id for line in init.body for node in ast.walk(line) if isinstance(node, ast.Name)}
    standing = [new[name] for name in given]
    last = max((place for place, name in enumerate(standing, 1) if name in read), default=0)
    spec.args = [spec.args[0], *map(ast.arg, standing[:last])]
    spec.vararg = ast.arg("settings") if last < len(standing) else None
    spec.defaults = []
    return True


def _size_places(init: ast.FunctionDef) -> list[ast.Name]:
    """Names that stand where a layer or a weight takes a size."""
    places: list[ast.expr] = []
    for call in (node for node in ast.walk(init) if isinstance(node, ast.Call)):
        places += call.args[: _SIZE_ARGUMENTS.get(_called(call), 0)]
        places += [k.value for k in call.keywords if k.arg in _SIZE_KEYWORDS]
        if _called(call) == "GroupNorm":
            places += call.args[1:2]
    return [n for n in {id(n): n for place in places for n in ast.walk(place)}.values() if isinstance(n, ast.Name)]


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)


class _Replace(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.values:
            return copy.deepcopy(self.values[node.id])
        return node


def _is_boilerplate(line: ast.stmt) -> bool:
    """The call of the base class, starting values of weights (they are copied), and text."""
    if isinstance(line, ast.Pass):
        return True
    if not isinstance(line, ast.Expr):
        return False
    text = ast.unparse(line.value)
    return isinstance(line.value, ast.Constant) or text.startswith(("super()", "nn.init.", "torch.nn.init."))


class _Weights(ast.NodeTransformer):
    """`nn.Parameter(torch.rand(n) + 0.5)` as `nn.Parameter(torch.rand(n))`: starting values are copied, not read."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if node.args and ast.unparse(node.func).endswith("Parameter"):
            made = [n for n in ast.walk(node.args[0]) if isinstance(n, ast.Call) and _called(n) in _MAKERS]
            node.args = [*made[:1], *node.args[1:]] if made else node.args
        return node


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _own(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return None


class _Inline(ast.NodeTransformer):
    """`self.<name>` that is a literal becomes it; a layer without weights, where it is called, its function."""

    def __init__(self, init: ast.FunctionDef) -> None:
        bound: dict[str, list[ast.expr]] = {}
        self.lines: dict[int, str] = {}
        for line in init.body:
            targets = line.targets if isinstance(line, ast.Assign) else []
            name = _own(targets[0]) if len(targets) == 1 else None
            if name and isinstance(line, ast.Assign):
                bound.setdefault(name, []).append(line.value)
                self.lines[id(line)] = name
        once = {name: values[0] for name, values in bound.items() if len(values) == 1}
        self.literals = {name: value for name, value in once.items() if is_literal(value)}
        self.layers = {name: call for name, value in once.items() if (call := _stateless(value))}

    def covers(self, line: ast.stmt) -> bool:
        name = self.lines.get(id(line))
        return name in self.literals or name in self.layers

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = _own(node.func)
        if name in self.layers and name:
            function, arguments, keywords = self.layers[name]
            named = [k for k in keywords if k.arg != "inplace"]
            return ast.Call(ast.parse(function, mode="eval").body, [*node.args, *arguments], named)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        name = _own(node)
        if name in self.literals and name and isinstance(node.ctx, ast.Load):
            return copy.deepcopy(self.literals[name])
        return self.generic_visit(node)


def is_literal(node: ast.AST) -> bool:
    """A number, a string, None, or a tuple or list of them."""
    try:
        ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _stateless(node: ast.expr) -> tuple[str, Iterable[ast.expr], list[ast.keyword]] | None:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    function = stateless(node.func.attr) if ast.unparse(node.func.value) in ("nn", "torch.nn") else None
    return (function, node.args, node.keywords) if function else None
