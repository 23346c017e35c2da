"""A committed notebook is a clean source: no outputs, no traces of a machine, one parameters cell that is true."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import lint_notebooks  # noqa: E402

from kzlib.params import load_profile  # noqa: E402
from kzlib.stages import stages  # noqa: E402

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))
SETUP = ROOT / "notebooks" / "00_setup_check.ipynb"


def laptop(name: str) -> dict[str, Any]:
    found = [stage for stage in stages(1) if stage.notebook == name]
    return load_profile("laptop").section_values(found[0].sections if found else ())


@pytest.mark.parametrize("path", PATHS + SOLUTIONS, ids=lambda path: path.stem)
def test_a_notebook_keeps_every_rule(path: Path) -> None:
    nbformat.validate(nbformat.read(path, as_version=4))
    assert list(lint_notebooks.problems(path, laptop(path.stem))) == []


def test_every_stage_has_its_notebook() -> None:
    assert {stage.notebook for stage in stages(1)} <= {path.stem for path in PATHS}


def test_every_setting_is_read_by_some_notebook() -> None:
    """No option that nobody reads: `kz run` refuses it as well."""
    from kzlib.runner import notebooks
    from kzlib.runner.run import RUNNER_READS

    declared = [
        (s, notebooks.parameters(notebooks.load(ROOT / f"notebooks/{s.notebook}.ipynb"), s.notebook)) for s in stages(1)
    ]
    notebooks.check_unused(declared, RUNNER_READS)


def cell(notebook: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in notebook["cells"] if c["id"] == name)


def broken(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    notebook = copy.deepcopy(json.loads(SETUP.read_text()))
    change(notebook)
    return notebook


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda n: cell(n, "save").update(outputs=[{"output_type": "stream"}]), "has outputs"),
        (lambda n: cell(n, "save").update(execution_count=3), "has outputs"),
        (lambda n: cell(n, "save").update(id="3f2a77b0"), "cell ids must be unique"),
        (lambda n: cell(n, "save").update(id="title"), "cell ids must be unique"),
        (lambda n: n.update(nbformat_minor=4), "nbformat is not 4.5"),
        (lambda n: n["metadata"]["kernelspec"].update(name="kz-env"), "kernel python3"),
        (lambda n: n["metadata"].update(widgets={}), "kernel python3"),
        (lambda n: cell(n, "save").update(metadata={"execution": {}}), "volatile metadata"),
        (lambda n: cell(n, "save").update(source="x = 1\n" * 41), "lines, 40 are the most"),
        (lambda n: cell(n, "save").update(source='open("/home/me/x")\nrun.finish()'), "names a machine's path"),
        (lambda n: cell(n, "save").update(source="!pip install torch\nrun.finish()"), "runs a shell"),
        (lambda n: cell(n, "save").update(source="import sys\nsys.exit(0)\nrun.finish()"), "exits"),
        (lambda n: cell(n, "save").update(source="pass"), "does not call run.finish()"),
        (lambda n: cell(n, "save")["metadata"].update(tags=["raises-exception"]), "raises-exception"),
        (lambda n: cell(n, "title").update(source="![x](data:image/png;base64,AA)"), "embedded picture"),
        (lambda n: cell(n, "next").update(source="[x](nowhere.ipynb)"), "is not there"),
        (lambda n: cell(n, "title").update(source="![x](https://example.org/x.png)"), "a picture from elsewhere"),
        (lambda n: cell(n, "save").update(source="plt.show()\nrun.finish()"), "a picture without words"),
        (lambda n: cell(n, "title").update(source="## Setup"), "has no title"),
        (lambda n: cell(n, "next").update(source="# Next"), "a second title"),
        (lambda n: cell(n, "next").update(source="#### Next"), "jumps from heading level 2 to 4"),
        (lambda n: cell(n, "title").update(source="# 00 Setup"), "lacks **What you will learn**, **Time**"),
        (lambda n: cell(n, "save")["metadata"].update(tags=["hide-input"]), "has the tag hide-input"),
        (lambda n: cell(n, "toy-kernel")["metadata"].update(tags=["exercise"]), "exercise toy-kernel sets toy"),
        (lambda n: cell(n, "toy-kernel")["metadata"].update(tags=["exercise"]), "does not import what it needs"),
        (lambda n: cell(n, "toy-kernel")["metadata"].update(tags=["exercise"]), "exercise toy-kernel is solved"),
        (
            lambda n: cell(n, "toy-kernel").update(
                metadata={"tags": ["exercise"]}, source='from kzlib import exercises\nexercises.check("03.reward", ...)'
            ),
            "its exercises are 03.reward, kzlib.exercises has none",
        ),
        (lambda n: cell(n, "parameters")["metadata"].clear(), '0 cells tagged "parameters"'),
        (lambda n: cell(n, "save")["metadata"].update(tags=["parameters"]), '2 cells tagged "parameters"'),
        (lambda n: cell(n, "parameters").update(source="sed = 0  # root"), "did you mean seed"),
        (lambda n: cell(n, "parameters").update(source="seed = 0"), "no trailing comment"),
        (lambda n: cell(n, "parameters").update(source="seed = 5  # root"), "the laptop profile has 0"),
        (lambda n: cell(n, "parameters").update(source="seed = 0  # root\nrounds = 2  # turns"), "never read"),
        (lambda n: cell(n, "parameters").update(source="seed = [\n  0]  # root"), "on one line"),
        (lambda n: cell(n, "parameters").update(source="seed = 0 + 0  # root"), "not a literal"),
        (lambda n: cell(n, "parameters").update(source="import os  # no"), "name = literal"),
    ],
)
def test_a_broken_rule_is_named(tmp_path: Path, change: Callable[[dict[str, Any]], Any], expected: str) -> None:
    path = tmp_path / SETUP.name
    path.write_text(json.dumps(broken(change)))
    found = list(lint_notebooks.problems(path, laptop("00_setup_check")))
    assert any(expected in problem for problem in found), found


def test_fix_strips_an_executed_notebook_and_brings_the_defaults_back(tmp_path: Path) -> None:
    path = tmp_path / SETUP.name
    shifted = broken(lambda n: cell(n, "parameters").update(source=_source(n).replace("seed = 0", "seed = 5")))
    cell(shifted, "save").update(execution_count=9, outputs=[{"output_type": "stream", "name": "stdout", "text": "x"}])
    shifted["metadata"]["papermill"] = {"input_path": "/home/me"}
    path.write_text(json.dumps(shifted))
    lint_notebooks.fix(path)
    assert json.loads(path.read_text()) == json.loads(SETUP.read_text())


def _source(notebook: dict[str, Any]) -> str:
    source = cell(notebook, "parameters")["source"]
    return source if isinstance(source, str) else "".join(source)


def alone(path: Path, outputs: Path, monkeypatch: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """The notebook after Run All as in Lab: no runner, nothing run before; it stops at the first error."""
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(outputs))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": path.parent}})
    with contextlib.suppress(CellExecutionError):  # the caller looks at the outputs
        client.execute()
    return notebook


def errors_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [o for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "error"]


def test_the_setup_check_runs_alone_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert errors_of(alone(SETUP, tmp_path, monkeypatch)) == []
    [record] = tmp_path.glob("laptop/*/stages/00_setup_check/finish.json")
    assert json.loads(record.read_text())["run_id"] == "interactive"
    settings = json.loads((record.parents[2] / "params.json").read_text())
    assert (
        settings == load_profile("laptop").model_dump()
    )  # else notebook 06 cannot be reached in Lab, without `kz run`


READERS = [path for path in PATHS if path.stem[:2] in ("02", "03", "04", "05", "06")]


@pytest.mark.parametrize("path", READERS, ids=lambda path: path.stem)
def test_opened_alone_a_notebook_names_the_one_to_run_first(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader gets one sentence, soon, and no stack trace."""
    [error] = errors_of(alone(path, tmp_path, monkeypatch))
    assert error.ename == "MissingInputError"
    assert "run notebook 0" in error.evalue
    assert len(error.traceback) == 1
