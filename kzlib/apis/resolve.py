"""Which candidate APIs a task module uses, by syntax tree alone: the first validity gate, and a task's label.

Followed: `class Model`, what it names in the same file, and nothing that only the input functions need.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from kzlib.apis.imports import Imports
from kzlib.apis.references import references

ENTRY = "Model"
INPUT_FUNCTIONS = ("get_inputs", "get_init_inputs")
RANDOM = frozenset(
    f"torch.{name}"
    for name in (
        "rand",
        "randn",
        "randint",
        "randperm",
        "manual_seed",
        "Tensor.uniform_",
        "Tensor.normal_",
        "Generator",
    )
)
# What stands beside a class in a file and is not part of the computation.
_NOT_FOLLOWED = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Sorted canonical names: candidate APIs, helpers allowed beside them, and whatever else of Torch is named."""

    apis: tuple[str, ...]
    helpers: tuple[str, ...]
    unknown: tuple[str, ...]


def resolve(source: str, entry: str = ENTRY) -> Resolution:
    """Names that `class Model` uses, aliases, methods and in-place forms folded; `@` is matmul, `+` a helper.

    Without a class of that name every class counts. Text that does not parse raises `SyntaxError`.

    >>> found = resolve('''
    ... import torch.nn.functional as F
    ... from torch import nn
    ... class Model(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.fc = nn.Linear(4, 4)
    ...     def forward(self, x):
    ...         return F.relu(self.fc(x)).add_(1) @ x * 2
    ... ''')
    >>> found.apis
    ('torch.add', 'torch.matmul', 'torch.nn.Linear', 'torch.nn.functional.relu')
    >>> found.helpers, found.unknown
    (('operator.mul', 'torch.nn.Module'), ())
    """
    tree = ast.parse(source)
    imports = Imports(tree)
    names: dict[str, set[str]] = {"api": set(), "helper": set(), "unknown": set(), "none": set()}
    defined = _definitions(tree)
    local = frozenset(defined) - imports.names.keys()
    for node in _reachable(tree, defined, entry):
        for kind, name, _ in references(node, imports, local):
            names[kind].add(name)
    return Resolution(*(tuple(sorted(names[kind])) for kind in ("api", "helper", "unknown")))


def random_calls(source: str, entry: str = ENTRY) -> tuple[str, ...]:
    """Random number makers that the entry class needs outside constructors, where they only set parameters.

    >>> random_calls("import torch\\nclass Model:\\n    def forward(self, x): return x + torch.rand(3)")
    ('torch.rand',)
    """
    tree = ast.parse(source)
    imports = Imports(tree)
    defined = _definitions(tree)
    parts: list[ast.AST] = []
    for stmt in _reachable(tree, defined, entry):
        if isinstance(stmt, ast.ClassDef):
            parts += [s for s in stmt.body if not (isinstance(s, ast.FunctionDef) and s.name == "__init__")]
        elif isinstance(stmt, ast.FunctionDef):
            parts.append(stmt)
    return tuple(sorted({name for part in parts for _, name, _ in references(part, imports) if name in RANDOM}))


def _definitions(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """Top-level names of a file -> the statements that bind them."""
    found: dict[str, list[ast.stmt]] = {}
    for stmt in tree.body:
        if isinstance(stmt, _NOT_FOLLOWED):
            continue
        if isinstance(stmt, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            bound = {stmt.name}
        else:
            bound = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for name in bound:
            found.setdefault(name, []).append(stmt)
    return found


def _reachable(tree: ast.Module, defined: dict[str, list[ast.stmt]], entry: str) -> list[ast.stmt]:
    """Top-level statements that the entry class needs, itself first; statements that bind nothing always run."""
    if entry in defined:
        waiting = list(defined[entry])
    else:
        waiting = [stmt for stmt in tree.body if isinstance(stmt, ast.ClassDef)]
    waiting += [s for s in tree.body if isinstance(s, ast.Expr | ast.If | ast.For | ast.While | ast.With | ast.Try)]
    found: list[ast.stmt] = []
    while waiting:
        stmt = waiting.pop(0)
        if stmt in found:
            continue
        found.append(stmt)
        used = {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        waiting += [s for name in sorted(used & defined.keys()) if name not in INPUT_FUNCTIONS for s in defined[name]]
    return found
