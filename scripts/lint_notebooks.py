"""Rules for the notebooks' sources, each with a one-line remedy: `python scripts/lint_notebooks.py [--fix]`.

`--fix` strips outputs, counts and volatile metadata, and copies the laptop profile's values into the parameters cells.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kzlib import exercises
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
PICTURE = re.compile(r"!\[[^\]]*\]\(https?:|<img\b")
WORDLESS = re.compile(r"\bplt\.show\(|\bImage\(|\bdisplay\(fig")
HEADING = re.compile(r"^(#+) ", re.M)
TAGS = {"parameters", "exercise"}
PROMISES = ("**What you will learn**", "**Time**", "**Reads**", "**Writes**")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)\s#]+)")


def all_notebooks() -> list[Path]:
    """The suite's notebooks and, in `solutions/`, the solved exercises."""
    return sorted((ROOT / "notebooks").glob("*.ipynb")) + sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))


def stage_of(path: Path) -> Stage | None:
    """The stage that a notebook belongs to, if any."""
    return next((stage for stage in stages(1) if stage.notebook == path.stem), None)


def problems(path: Path, laptop: dict[str, Any]) -> Iterator[str]:
    """Every broken rule of one notebook as `what: what to do`."""
    notebook = notebooks.load(path)
    yield from _format(notebook)
    yield from _cells(notebook, path)
    yield from _headings(notebook)
    if path.parent.name != "solutions":
        yield from _promises(notebook)
    yield from _exercises(notebook, path)
    stage = stage_of(path)
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
        if not code and (found := PICTURE.search(text)):
            yield f"cell {name} shows a picture from elsewhere ({found.group()}): draw it in a code cell"
        if code and (found := WORDLESS.search(text)):
            yield f"cell {name} shows a picture without words ({found.group()}): use figures.show_plot or show_picture"
        if others := set(tags_of(cell)) - TAGS:
            yield f"cell {name} has the tag {min(others)}: only {' and '.join(sorted(TAGS))} mean something here"
        if not code:
            yield from (
                f"cell {name} links to {link}, which is not there: mend the link"
                for link in LINK.findall(text)
                if not (path.parent / link).exists()
            )


def _headings(notebook: dict[str, Any]) -> Iterator[str]:
    """One title, in the first cell, then sections; no level is jumped over, so that an outline reads right."""
    levels = [
        (len(found), cell.get("id", "?"))
        for cell in notebook["cells"]
        if cell["cell_type"] == "markdown"
        for found in HEADING.findall(re.sub(r"```.*?```", "", text_of(cell), flags=re.S))
    ]
    if [level for level, _ in levels[:1]] != [1] or notebook["cells"][0].get("id") != levels[0][1]:
        yield "the first cell has no title: begin it with `# `"
    for (before, _), (level, cell_id) in itertools.pairwise(levels):
        if level == 1:
            yield f"cell {cell_id} has a second title: use `## `"
        elif level > before + 1:
            yield f"cell {cell_id} jumps from heading level {before} to {level}: leave none out"


def _promises(notebook: dict[str, Any]) -> Iterator[str]:
    missing = [promise for promise in PROMISES if promise not in text_of(notebook["cells"][0])]
    if missing:
        yield f"the first cell lacks {', '.join(missing)}: a reader decides there whether to go on"


def _exercises(notebook: dict[str, Any], path: Path) -> Iterator[str]:
    """Every exercise of the lesson has one cell that stands alone and sets only names that no lesson can read."""
    asked = []
    for cell in [c for c in code_cells(notebook) if "exercise" in tags_of(c)]:
        name, tree = cell.get("id", "?"), ast.parse(text_of(cell))
        asked += re.findall(r"exercises\.check\(\"([^\"]+)\"", text_of(cell))
        outside = [n for n in tree.body if not isinstance(n, ast.Import | ast.ImportFrom)]
        bound = {n.name for n in outside if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        bound |= {
            n.id for top in outside for n in ast.walk(top) if isinstance(top, ast.Assign) and isinstance(n, ast.Name)
        }
        if foreign := sorted(n for n in bound if not n.startswith("my_")):
            yield f"exercise {name} sets {foreign[0]}: name it my_{foreign[0]}, so that no lesson cell can depend on it"
        if "from kzlib import exercises" not in text_of(cell):
            yield f"exercise {name} does not import what it needs: begin it with `from kzlib import exercises`"
        if path.parent.name != "solutions" and "..." not in text_of(cell):
            yield f"exercise {name} is solved: put the stub back (...); solutions are in notebooks/solutions/"
    lesson = path.stem[:2]
    known = list(exercises.names(lesson)) if lesson in exercises.LESSONS else []
    if asked != known:
        yield f"its exercises are {', '.join(asked) or 'none'}, kzlib.exercises has {', '.join(known) or 'none'}: align"


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
    stage = stage_of(path)
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


def with_values(source: str, values: dict[str, Any], every: bool = False) -> str:
    """A parameters cell with other values, comments kept; `every` also sets the profile and other names of the runner.

    >>> with_values("steps = 3  # a round", {"steps": 4})
    'steps = 4  # a round'
    """
    lines = source.split("\n")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            if name in values and (every or name not in ALWAYS) and ast.literal_eval(value) != values[name]:
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
    paths = options.paths or all_notebooks()
    everything = load_profile("laptop")
    found = 0
    for path in paths:
        if options.fix:
            fix(path)
        stage = stage_of(path)
        for problem in problems(path, everything.section_values(stage.sections if stage else ())):
            print(f"{path.parent.name}/{path.name}: {problem}")
            found += 1
    print(f"{len(paths)} notebooks, {found} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
