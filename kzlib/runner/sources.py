"""Which library sources a notebook depends on, and their digests.

The modules reached by `import` from the notebook count, and the data files and sibling programs that these modules
name in a string (a child started with `-m`, a table read from the package). A module's comments and docstrings do
not count. So an edit to the figures does not make a training stage stale.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
NAME = PACKAGE.name

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def library_digests(tree: ast.Module, package: Path = PACKAGE) -> dict[str, str]:
    """{"kzlib/sft.py": digest, ...} of everything in the package that code with these imports can reach.

    >>> sorted(library_digests(ast.parse("from kzlib import seeds")))
    ['kzlib/__init__.py', 'kzlib/seeds.py']
    """
    todo = list(_imported(tree, package, None))
    reached: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in reached:
            continue
        reached.add(path)
        if path.suffix == ".py":
            todo.extend(_references(path, package))
    return {
        f"{package.name}/{path.relative_to(package)}": _digest(path, path.stat().st_mtime_ns)
        for path in sorted(reached)
    }


def _references(path: Path, package: Path) -> Iterator[Path]:
    yield from _references_cached(path, package, path.stat().st_mtime_ns)


@cache
def _references_cached(path: Path, package: Path, _mtime: int) -> tuple[Path, ...]:
    tree = _tree(path)
    found = list(_imported(tree, package, path))
    words = _words(tree)
    inside = path.parent != package
    if inside:  # a subpackage's own data are few, so all of them count
        found.extend(_data_files(path.parent))
    for neighbour in path.parent.iterdir():
        module = neighbour.suffix == ".py" or (neighbour / "__init__.py").exists()
        if (neighbour.name in words and not (module and neighbour.is_dir())) or (
            neighbour.stem in words and (inside or not module)
        ):
            found.extend(_named(neighbour))
    for word in words:
        if word.startswith(f"{package.name}."):
            found.extend(_module_files(word, package))
    return tuple(found)


def _named(path: Path) -> Iterator[Path]:
    if path.is_dir() and path.name != "__pycache__":
        yield from (p for p in path.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    elif path.is_file() and path.name != "__init__.py":
        yield path


def _data_files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _named(path)


def _imported(tree: ast.AST, package: Path, importer: Path | None) -> Iterator[Path]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_files(alias.name, package)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and importer is not None:
                folder = importer.parents[node.level - 1].relative_to(package.parent)
                base = ".".join([*folder.parts, *([node.module] if node.module else [])])
            yield from _module_files(base, package)
            for alias in node.names:
                yield from _module_files(f"{base}.{alias.name}", package)


def _module_files(dotted: str, package: Path) -> Iterator[Path]:
    parts = dotted.split(".")
    if parts[0] != package.name:
        return
    folder = package
    yield package / "__init__.py"
    for part in parts[1:]:
        if (folder / part / "__init__.py").is_file():
            folder = folder / part
            yield folder / "__init__.py"
        elif (folder / f"{part}.py").is_file():
            yield folder / f"{part}.py"
            return
        else:
            return


def _words(tree: ast.Module) -> set[str]:
    """Words inside string constants that are not docstrings: file names, module names, folder names."""
    prose = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and _has_docstring(node)}  # type: ignore[attr-defined]
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found.update(word.strip(".") for word in re.findall(r"[\w.\-]+", node.value))
    return found


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        name = f"{NAME}/{path.relative_to(PACKAGE)}" if path.is_relative_to(PACKAGE) else path.name
        raise ValueError(f"{name}, line {error.lineno}, is not valid Python ({error.msg}): mend it") from None


def _has_docstring(node: ast.AST) -> bool:
    body = getattr(node, "body", [])
    return bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)


@cache
def _digest(path: Path, _mtime: int) -> str:
    if path.suffix != ".py":
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    tree = _tree(path)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and _has_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]
