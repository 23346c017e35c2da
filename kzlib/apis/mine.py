"""Count Torch APIs in real `nn.Module` classes: parse, resolve aliases, count per distinct class body.

The shipped statistics were made this way (issue 5). Nothing is imported or run: only text is read.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from kzlib.apis.catalogue import api_index, eligible
from kzlib.apis.imports import Imports
from kzlib.apis.references import references


@dataclass(slots=True)
class Mined:
    """Counts of one source tree. One count = one distinct class body that mentions the API at least once."""

    classes: int = 0
    unique: int = 0
    used: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    set_sizes: Counter[int] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)


def mine(paths: Iterable[str | Path]) -> Mined:
    """Mine every Python file below the paths as one package. A file that does not parse is listed in `skipped`."""
    found = Mined()
    parsed = list(_parse(paths, found.skipped))
    module_classes = _module_classes(parsed)
    seen: set[bytes] = set()
    for tree, imports in parsed:
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef) or not _is_module(node, imports, module_classes):
                continue
            found.classes += 1
            digest = _body_digest(node)
            if digest in seen:
                continue
            seen.add(digest)
            found.unique += 1
            _count(found, node, imports)
    return found


def _parse(paths: Iterable[str | Path], skipped: list[str]) -> Iterator[tuple[ast.Module, Imports]]:
    for root in map(Path, paths):
        if not root.exists():
            raise FileNotFoundError(f"nothing at {root}: give a folder or a Python file to mine")
        for path in [root] if root.is_file() else sorted(root.rglob("*.py")):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SyntaxWarning)
                    tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, RecursionError) as error:
                skipped.append(f"{path}: {error}")
                continue
            yield tree, Imports(tree)


def _bases(node: ast.ClassDef, imports: Imports) -> Iterator[str]:
    for given in node.bases:
        base = given.value if isinstance(given, ast.Subscript) else given
        dotted = imports.dotted(base)
        if dotted is not None:
            yield dotted
        elif isinstance(base, ast.Name):
            yield base.id
        elif isinstance(base, ast.Attribute):
            yield base.attr


def _is_torch_module(dotted: str) -> bool:
    last = dotted.rpartition(".")[2]
    return last == "LightningModule" or (dotted.startswith("torch.nn.") and last[:1].isupper())


def _is_module(node: ast.ClassDef, imports: Imports, module_classes: set[str]) -> bool:
    return any(_is_torch_module(base) or base.rpartition(".")[2] in module_classes for base in _bases(node, imports))


def _module_classes(parsed: list[tuple[ast.Module, Imports]]) -> set[str]:
    """Names of classes that derive from an `nn` module in the text, to a fixpoint over the whole package."""
    classes = [
        (node.name, list(_bases(node, imports)))
        for tree, imports in parsed
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    known: set[str] = set()
    while True:
        new = {
            name
            for name, bases in classes
            if name not in known and any(_is_torch_module(b) or b.rpartition(".")[2] in known for b in bases)
        }
        if not new:
            return known
        known |= new


def _body_digest(node: ast.ClassDef) -> bytes:
    """Equal for classes with the same body, whatever their name, comments and docstrings."""
    dump = "\n".join(ast.dump(stmt) for stmt in node.body if not _is_docstring(stmt))
    return hashlib.sha256(dump.encode()).digest()


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)


def _count(found: Mined, node: ast.ClassDef, imports: Imports) -> None:
    names: set[str] = set()
    for part in [*node.bases, *node.body]:
        names.update(name for _, name, _ in references(part, imports, strict=False))
    used = names & eligible()
    if not used:
        return
    found.used += 1
    found.set_sizes[len(used)] += 1
    listed = sorted(used & api_index().keys())
    found.counts.update(listed)
    found.pairs.update(combinations(listed, 2))
