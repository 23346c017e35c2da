"""What a notebook's source says without running it: its parameters cell, its code, the names it reads, its digest."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.params import fields_of, nearest
from kzlib.stages import Stage

# Names that the runner may give any notebook, besides the settings of its sections.
ALWAYS = ("profile", "output_root", "run_name", "round_number")


class NotebookError(ValueError):
    """A notebook that cannot be run as it stands; one sentence that says what to change."""


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell: `steps = 20  # a round`."""

    name: str
    default: Any
    comment: str


def load(path: Path) -> dict[str, Any]:
    """A notebook as JSON, or one sentence about why not."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotebookError(
            f"notebooks/{path.name} is missing: restore it (git checkout notebooks/{path.name})"
        ) from None
    except json.JSONDecodeError as error:
        raise NotebookError(
            f"notebooks/{path.name} is not JSON ({error.msg}, line {error.lineno}): restore it"
        ) from None


def text_of(cell: dict[str, Any]) -> str:
    """A cell's source as one text."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def tags_of(cell: dict[str, Any]) -> list[str]:
    """A cell's tags."""
    return list(cell.get("metadata", {}).get("tags", []))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The code cells that hold anything."""
    return [c for c in notebook["cells"] if c["cell_type"] == "code" and text_of(c).strip()]


def lesson_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The code cells that a stage's results can depend on: those without the tag "exercise", which a reader fills in.

    The rules of the notebooks keep every name that an exercise sets apart from the lesson's own.
    """
    return [cell for cell in code_cells(notebook) if "exercise" not in tags_of(cell)]


def parameters(notebook: dict[str, Any], name: str) -> dict[str, Parameter]:
    """The parameters cell, read as Python: one-line literal assignments, nothing else.

    >>> cell = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": "steps = 20  # a round"}
    >>> parameters({"cells": [cell]}, "demo")["steps"]
    Parameter(name='steps', default=20, comment='a round')
    """
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code" and "parameters" in tags_of(c)]
    if len(cells) != 1:
        raise NotebookError(f'{name} has {len(cells)} cells tagged "parameters": tag exactly one')
    source = text_of(cells[0])
    comments = _comments(source, name)
    found: dict[str, Parameter] = {}
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(node, ast.AnnAssign):
            target = node.target
        value = getattr(node, "value", None)
        if not isinstance(target, ast.Name) or value is None or node.end_lineno != node.lineno:
            raise NotebookError(
                f"{name}: line {node.lineno} of the parameters cell is not `name = literal` on one line"
            )
        try:
            default = ast.literal_eval(value)
        except ValueError:
            raise NotebookError(
                f"{name}: {target.id} in the parameters cell is not a literal: it is computed before the profile's "
                "values arrive; compute it in a later cell"
            ) from None
        if target.id in found:
            raise NotebookError(f"{name}: {target.id} is set twice in the parameters cell: remove one line")
        found[target.id] = Parameter(target.id, default, comments.get(node.lineno, ""))
    return found


def check_names(notebook: dict[str, Any], stage: Stage) -> dict[str, Parameter]:
    """The parameters of a stage's notebook, each known to its sections and read later on; else NotebookError."""
    declared = parameters(notebook, stage.notebook)
    known = [*fields_of(stage.sections), *ALWAYS]
    read = names_read(notebook)
    for name in declared:
        if name not in known:
            sections = ", ".join(stage.sections)
            raise NotebookError(
                f"{stage.notebook}: {name} in the parameters cell is no setting of {sections}{nearest(name, known)}"
            )
        if name not in read:
            raise NotebookError(
                f"{stage.notebook}: {name} is set in the parameters cell and never read: use or remove it"
            )
    return declared


def names_read(notebook: dict[str, Any]) -> set[str]:
    """Every name that the cells after the parameters cell read."""
    found: set[str] = set()
    for cell in lesson_cells(notebook):
        if "parameters" not in tags_of(cell):
            found |= {
                node.id
                for node in ast.walk(_parse(text_of(cell)))
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            }
    return found


def imports(notebook: dict[str, Any]) -> ast.Module:
    """All code but the exercises as one module, for reading its imports."""
    return ast.Module([node for cell in lesson_cells(notebook) for node in _parse(text_of(cell)).body], type_ignores=[])


def digest(notebook: dict[str, Any]) -> str:
    """Sixteen hex digits of what the code does: prose, comments, layout, default values and exercises do not count.

    The defaults do not, because the resolved values are in the stage's key; prose does not, because mending a typing
    error must not repeat days of training (ploomber/ploomber#1059).
    """
    sha = hashlib.sha256()
    for cell in lesson_cells(notebook):
        tags = sorted(tags_of(cell))
        declares = "parameters" in tags
        body = " ".join(sorted(parameters(notebook, ""))) if declares else ast.dump(_parse(text_of(cell)))
        sha.update(f"{tags}\0{body}\0".encode())
    return sha.hexdigest()[:16]


def check_unused(notebooks: Iterable[tuple[Stage, Iterable[str]]], exempt: Iterable[str]) -> None:
    """Every setting of the sections in use is declared by some notebook, else NotebookError: an option nobody reads."""
    declared: set[str] = set()
    sections: dict[str, set[str]] = {}
    for stage, names in notebooks:
        declared |= set(names)
        for section in stage.sections:
            sections.setdefault(section, set()).add(stage.notebook)
    for section, users in sections.items():
        unused = [name for name in fields_of([section]) if name not in declared and name not in set(exempt)]
        if unused:
            raise NotebookError(
                f"{section}.{unused[0]} is set and no notebook reads it: add it to the parameters cell of "
                f"{' or '.join(sorted(users))}, or remove it"
            )


def _parse(source: str) -> ast.Module:
    """Python of a cell; IPython's % and ! lines become comments, for they are no Python."""
    lines = ["pass  # magic" if line.lstrip()[:1] in ("%", "!") else line for line in source.split("\n")]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError as error:
        raise NotebookError(
            f"a code cell is not valid Python ({error.msg}: {(error.text or '').strip()}): mend it"
        ) from None


def _comments(source: str, name: str) -> dict[int, str]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        ast.parse(source)
    except (SyntaxError, tokenize.TokenError) as error:
        raise NotebookError(f"{name}: the parameters cell is not valid Python ({error})") from None
    return {t.start[0]: t.string.lstrip("# ").strip() for t in tokens if t.type == tokenize.COMMENT}
