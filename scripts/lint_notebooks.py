"""Rules for the notebooks' sources, each with a one-line remedy: `python scripts/lint_notebooks.py [--fix]`.

`--fix` strips outputs, counts and volatile metadata, and copies the laptop profile's values into the parameters cells.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kzlib.environment import ROOT
from kzlib.params import load_profile
from kzlib.runner import notebooks
from kzlib.runner.notebooks import ALWAYS, code_cells, tags_of, text_of
from kzlib.stages import Stage, stages

FIX = "run python scripts/lint_notebooks.py --fix"
LONGEST_CELL = 40
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|mnt|Users|var|opt|data)/|[A-Z]:\\\\|file://")
SHELL = re.compile(r"^\s*(?:!|%pip|%conda|%%bash|%%sh|%%script|%%writefile)|get_ipython\(\)\.system|os\.system\(", re.M)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")


def problems(path: Path, laptop: dict[str, Any]) -> Iterator[str]:
    """Every broken rule of one notebook as `what: what to do`."""
    notebook = notebooks.load(path)
    yield from _format(notebook)
    yield from _cells(notebook, path)
    stage = next((s for s in stages(1) if s.notebook == path.stem), None)
    if stage is None:
        return
    try:
        yield from _parameters(notebook, stage, laptop)
    except notebooks.NotebookError as error:
        yield str(error)
    last = code_cells(notebook)[-1]
    if "run.finish(" not in text_of(last):
        yield "the last code cell does not call run.finish(): the runner takes the notebook as unfinished; add the call"


def _format(notebook: dict[str, Any]) -> Iterator[str]:
    if (notebook.get("nbformat"), notebook.get("nbformat_minor")) != (4, 5):
        yield f"nbformat is not 4.5: {FIX}"
    if notebook.get("metadata", {}).get("kernelspec") != KERNEL or set(notebook["metadata"]) - {
        "kernelspec",
        "language_info",
    }:
        yield f"metadata hold more or other than the kernel python3: {FIX}"
    ids = [cell.get("id", "") for cell in notebook["cells"]]
    bad = [i for i in ids if not re.fullmatch(r"[a-z][a-z0-9-]{1,40}", i)]
    if bad or len(set(ids)) < len(ids):
        yield f"cell ids must be unique, lower-case words with dashes ({bad[0] if bad else 'one is twice'}): rename it"


def _cells(notebook: dict[str, Any], path: Path) -> Iterator[str]:
    for cell in notebook["cells"]:
        name, text = cell.get("id", "?"), text_of(cell)
        code = cell["cell_type"] == "code"
        if code and (cell.get("outputs") or cell.get("execution_count")):
            yield f"cell {name} has outputs: {FIX}"
        if set(cell.get("metadata", {})) - {"tags"}:
            yield f"cell {name} has volatile metadata: {FIX}"
        if code and text.count("\n") + 1 > LONGEST_CELL:
            yield f"cell {name} has {text.count(chr(10)) + 1} lines, {LONGEST_CELL} are the most: split it"
        if found := MACHINE_PATH.search(text):
            yield f"cell {name} names a machine's path ({found.group()}): use run.path(...)"
        if code and SHELL.search(text):
            yield f"cell {name} runs a shell or installs something: dependencies belong into pyproject.toml"
        if code and re.search(r"\b(sys\.exit|os\._exit|exit|quit)\(", text):
            yield f"cell {name} exits: papermill takes that as success; finish with an outcome and a reason"
        if "raises-exception" in tags_of(cell):
            yield f"cell {name} is tagged raises-exception, which counts as a failure: show the error with try/except"
        if not code and "base64," in text:
            yield f"cell {name} holds an embedded picture: save it as a file"
        if not code:
            yield from (
                f"cell {name} links to {link}, which is not there: mend the link"
                for link in LINK.findall(text)
                if not (path.parent / link).exists()
            )


def _parameters(notebook: dict[str, Any], stage: Stage, laptop: dict[str, Any]) -> Iterator[str]:
    declared = notebooks.check_names(notebook, stage)
    position = next(n for n, cell in enumerate(notebook["cells"]) if "parameters" in tags_of(cell))
    if position > 4:
        yield "the parameters cell is not among the first five: move it up"
    for parameter in declared.values():
        if not parameter.comment:
            yield f"{parameter.name} has no trailing comment: say what it is and its unit"
        wanted = laptop.get(parameter.name, parameter.default)
        if parameter.name not in ALWAYS and parameter.default != wanted:
            yield f"{parameter.name} is {parameter.default!r} and the laptop profile has {wanted!r}: {FIX}"
    if stage.round_number and "round_number" not in declared:
        yield "round_number is not in the parameters cell: add `round_number = 1  # which turn`"


def fix(path: Path) -> None:
    """Strip what execution left and bring the defaults up to the laptop profile."""
    notebook = notebooks.load(path)
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
    notebook["metadata"] = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    stage = next((s for s in stages(1) if s.notebook == path.stem), None)
    for cell in notebook["cells"]:
        tags = tags_of(cell)
        cell["metadata"] = {"tags": tags} if tags else {}
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
            if stage and "parameters" in tags:
                values = load_profile("laptop").section_values(stage.sections)
                cell["source"] = with_values(text_of(cell), values).splitlines(keepends=True)  # one diff line each
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    if text != path.read_text(encoding="utf-8"):
        path.write_text(text, encoding="utf-8")


def with_values(source: str, values: dict[str, Any]) -> str:
    """A parameters cell with other values, comments kept.

    >>> with_values("steps = 3  # a round", {"steps": 4})
    'steps = 4  # a round'
    """
    lines = source.split("\n")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            if name in values and name not in ALWAYS and ast.literal_eval(value) != values[name]:
                line = lines[node.lineno - 1].encode()
                text = json.dumps(values[name]) if isinstance(values[name], (str, list)) else repr(values[name])
                lines[node.lineno - 1] = (
                    line[: value.col_offset] + text.encode() + line[value.end_col_offset :]
                ).decode()
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("paths", nargs="*", type=Path)
    options = parser.parse_args()
    paths = options.paths or sorted((ROOT / "notebooks").glob("*.ipynb"))
    everything = load_profile("laptop")
    found = 0
    for path in paths:
        if options.fix:
            fix(path)
        stage = next((s for s in stages(1) if s.notebook == path.stem), None)
        for problem in problems(path, everything.section_values(stage.sections if stage else ())):
            print(f"notebooks/{path.name}: {problem}")
            found += 1
    print(f"{len(paths)} notebooks, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
