"""A number in README or in a notebook's prose that traces to nothing would be believed all the same."""

from __future__ import annotations

import importlib.util
import json

import pytest
import synthetic_run

from kzlib import evaluation
from kzlib.records import Task
from kzlib.summary import evaluated
from kzlib.workspace import ROOT

spec = importlib.util.spec_from_file_location("readme_numbers", ROOT / "scripts" / "readme_numbers.py")
numbers_of = importlib.util.module_from_spec(spec)
spec.loader.exec_module(numbers_of)


@pytest.fixture
def collected(tmp_path, monkeypatch):
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path))
    run = synthetic_run.make_run(tmp_path, "published", drawn=False)
    evaluation.publish(run, run.root / "scratch", [Task("class Model: ...")], evaluated(run))
    return numbers_of.collect(["smoke/published"])


def test_readme_and_notebooks_of_this_repository():
    numbers = json.loads((ROOT / "docs" / "readme_numbers.json").read_text())
    readme = ROOT / "README.md"
    text = readme.read_text() if readme.exists() else None
    assert numbers_of.problems(numbers, text, sorted((ROOT / "notebooks").glob("*.ipynb"))) == []


def test_every_number_of_the_table_comes_from_the_run_with_its_source(collected):
    run = collected["runs"][0]
    source = run["sources"]["evaluation.attempts"]
    assert source["path"] == "metrics/attempts.csv"
    assert len(source["digest"]) == 16
    table = numbers_of.block(collected)
    first = run["coder"][0]
    assert f"{first['value']:.3f}" in table
    assert f"| {first['tasks']} |" in table
    assert "modelled" in table
    assert f"{run['costs']['tokens']} tokens" in table


def test_other_seeds_are_put_beside_the_first(collected):
    other = {**json.loads(json.dumps(collected["runs"][0])), "run": "smoke/other", "seed": 7}
    table = numbers_of.block({**collected, "runs": [collected["runs"][0], other]})
    row = next(line for line in table.splitlines() if line.startswith("| [smoke/other]"))
    gap = next(gap for gap in other["gain"] if gap["protocol"] == "strict")
    assert f"| 7 | {gap['difference']:+.3f} [" in row
    assert f"{gap['better']}, {gap['worse']} of {gap['tasks']}" in row


def test_an_edited_number_is_found(collected):
    good = numbers_of.written(f"# x\n{numbers_of.BEGIN}\n{numbers_of.END}\nend\n", collected)
    assert numbers_of.problems(collected, good, []) == []
    value = f"{collected['runs'][0]['coder'][0]['value']:.3f}"
    assert "write" in numbers_of.problems(collected, good.replace(value, "0.999", 1), [])[0]


@pytest.mark.parametrize("part", ["coder", "training", "costs"])
def test_a_number_typed_into_the_collected_file_is_found_though_the_table_agrees(collected, part):
    forged = json.loads(json.dumps(collected))
    run = forged["runs"][0]
    if part == "coder":
        run["coder"][0]["value"] = 0.987
    elif part == "training":
        run["training"][0]["end"]["value"] = 0.987
    else:
        run["costs"]["tokens"] += 1
    text = numbers_of.written(f"{numbers_of.BEGIN}\n{numbers_of.END}", forged)
    assert "says other numbers than the files" in numbers_of.problems(forged, text, [])[0]


def test_a_run_that_is_not_in_the_repository_traces_to_nothing(collected, tmp_path):
    (tmp_path / "smoke" / "published").rename(tmp_path / "smoke" / "away")
    assert "kz publish" in numbers_of.problems(collected, None, [])[0]


def test_a_claim_outside_the_table_is_found_unless_published(collected):
    good = numbers_of.written(f"{numbers_of.BEGIN}\n{numbers_of.END}\nThe paper: 69.6 %. ", collected)
    assert numbers_of.problems(collected, good, []) == []
    assert "73.1 %" in numbers_of.problems(collected, good + "Ours: 73.1 %.", [])[0]
    assert "0.731" in numbers_of.problems(collected, good + "Ours: pass@1 0.731.", [])[0]
    assert "4.2x" in numbers_of.problems(collected, good + "and 4.2x faster", [])[0]


def test_prose_of_a_notebook_may_quote_what_its_code_computes(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "nine of ten are at 0.9x, one at 55x"},
        {"cell_type": "code", "source": "toy = [0.9] * 9"},
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    found = numbers_of.problems({"runs": []}, None, [tmp_path / "n.ipynb"])
    assert found == ["n.ipynb claims 55x, which traces to nothing"]


def test_a_run_that_changed_after_collecting_is_found(collected, tmp_path):
    (tmp_path / "smoke" / "published" / "metrics" / "attempts.csv").write_text("another\n")
    assert "has changed" in numbers_of.problems(collected, None, [])[0]


def test_a_readme_without_marks_says_what_to_do(collected):
    with pytest.raises(ValueError, match="lacks the two marks"):
        numbers_of.written("# nothing", collected)
