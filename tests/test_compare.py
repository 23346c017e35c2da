"""Comparing, summing up, sweeping: a table that mixes devices or task sets would be read as a result."""

from __future__ import annotations

import argparse
import json

import pandas as pd
import pytest
import synthetic_run

from kzlib import compare, sweep
from kzlib.cli import main
from kzlib.metrics import Attempt
from kzlib.records import Outcome
from kzlib.workspace import open_run


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("outputs")
        patch.setenv("KZ_OUTPUT_ROOT", str(folder))
        synthetic_run.make_run(folder, "one", seed=0, skill=0.3, drawn=False)
        synthetic_run.make_run(folder, "two", seed=1, skill=0.9, drawn=False)
        synthetic_run.make_run(folder, "gpu", seed=0, where="cuda:SYNTHETIC", kind="measured", drawn=False)
        synthetic_run.make_run(folder, "fewer", seed=0, tasks=6, drawn=False)
        open_run("outputs", "smoke", "begun")
        yield folder


@pytest.fixture(autouse=True)
def outputs(root, monkeypatch):
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(root))


def runs(*names: str):
    return [compare.find(f"smoke/{name}") for name in names]


def test_equal_conditions_give_scores_and_paired_differences():
    rows = compare.compare(runs("one", "two"), draws=200)
    row = next(
        r
        for r in rows
        if (r["training"], r["protocol"], r["metric"], r["run"]) == ("after RL", "strict", "pass@1", "smoke/two")
    )
    base = next(
        r
        for r in rows
        if (r["training"], r["protocol"], r["metric"], r["run"]) == ("after RL", "strict", "pass@1", "smoke/one")
    )
    assert row["paired"] == base["tasks"] == 12
    assert row["difference"] == pytest.approx(row["value"] - base["value"])
    assert row["difference_low"] <= row["difference"] <= row["difference_high"]
    assert row["difference"] > 0
    assert base["difference"] is None


def test_a_run_against_a_copy_of_itself_differs_by_nothing(root):
    first = compare.find("smoke/one")
    synthetic_run.make_run(root, "one_again", seed=0, skill=0.3, drawn=False)
    again = compare.find("smoke/one_again")
    (again.root / "metrics/attempts.csv").write_bytes((first.root / "metrics/attempts.csv").read_bytes())
    assert {r["difference"] for r in compare.compare([first, again], draws=50)} == {None, 0.0}


@pytest.mark.parametrize(("other", "what"), [("gpu", {"device", "timing"}), ("fewer", {"task set"})])
def test_other_conditions_are_refused_and_named(other, what):
    with pytest.raises(compare.IncomparableError) as caught:
        compare.compare(runs("one", other))
    assert {row["what"] for row in caught.value.table} == what
    assert "cannot be compared" in str(caught.value)


def attempts(**facts):
    return [Attempt(f"t{i}", 0, Outcome.PASS, precision="ieee", task_set="heldout", **facts) for i in range(3)]


@pytest.mark.parametrize(
    ("change", "what"),
    [({"protocol": "keck"}, "protocol"), ({"where": "cuda:H200"}, "device"), ({"timing_kind": "measured"}, "timing")],
)
def test_each_condition_is_seen(change, what):
    found = {
        "a": compare.conditions(attempts(timing_kind="modelled")),
        "b": compare.conditions(attempts(**{"timing_kind": "modelled"} | change)),
    }
    assert [row["what"] for row in compare.differences(found)] == [what]


def test_precision_is_a_condition():
    other = [Attempt(a.task_id, 0, Outcome.PASS, precision="tf32", task_set="heldout") for a in attempts()]
    found = {"a": compare.conditions(attempts()), "b": compare.conditions(other)}
    assert [row["what"] for row in compare.differences(found)] == ["precision"]


def test_answers_that_never_reached_a_device_do_not_make_two_devices():
    mixed = [*attempts(), Attempt("t0", 1, Outcome.NO_CODE, where="nowhere", task_set="heldout")]
    assert compare.conditions(mixed).device == "cpu-interpreter"


def test_what_to_type_when_a_run_is_missing_or_not_evaluated():
    with pytest.raises(ValueError, match="there is no run smoke/none"):
        compare.find("smoke/none")
    with pytest.raises(ValueError, match="run notebook 05_evaluation"):
        compare.compare(runs("one", "begun"))
    with pytest.raises(ValueError, match="two runs or more"):
        compare.compare(runs("one"))


def test_command_compare(capsys):
    assert main(["compare", "smoke/one", "smoke/two", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2 * 2 * 3 * 2
    assert main(["compare", "smoke/one", "smoke/gpu"]) == 2
    out = capsys.readouterr().out
    assert "cannot be compared" in out
    assert "cuda:SYNTHETIC" in out


def test_command_summary_prints_one_json_object_with_counts_and_intervals(capsys):
    assert main(["summary", "--profile", "smoke", "--run", "one", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["device"] == ["cpu-interpreter"]
    curves = {row["curve"]: row for row in result["training"]}
    assert {"Proposer, validity", "Coder, pass@1, triton"} <= set(curves)
    assert all({"curve", "start", "end", "steps"} == set(row) for row in curves.values())
    assert all({"value", "low", "high", "tasks", "timing", "where"} <= set(row) for row in result["coder"])
    assert {row["stage"]: row["verdicts"] for row in result["stages"]}["05_evaluation"] == 2 * 2 * 12 * 4
    assert main(["summary", "--profile", "smoke", "--run", "one"]) == 0
    assert "pass@1" in capsys.readouterr().out


def test_command_summary_of_a_run_that_is_not_there(capsys):
    assert main(["summary", "--profile", "smoke", "--run", "nothing"]) != 0
    assert "there is no run smoke/nothing" in capsys.readouterr().err


def fake_execute(run, params):
    """Stands in for the notebooks: writes a synthetic run into the folder."""
    from kzlib.runner import StageFailedError

    if params.profile == "alpha_1.1":
        raise StageFailedError("05_evaluation failed: SYNTHETIC cause\nmore")
    synthetic_run.make_run(
        run.root.parent.parent, run.name, params.profile, params.run.seed, alpha=params.coder.alpha, drawn=False
    )


def test_a_sweep_makes_one_table_and_figure_4_and_says_what_failed():
    said: list[str] = []
    members = sweep.run_all(
        ["smoke", "alpha_0", "alpha_1.1", "frozen_proposer"], [0, 1], "outputs", fake_execute, said.append
    )
    assert [(m.profile, m.seed, bool(m.failure)) for m in members][:5] == [
        ("smoke", 0, False), ("smoke", 1, False), ("alpha_0", 0, False), ("alpha_0", 1, False), ("alpha_1.1", 0, True),
    ]  # fmt: skip
    result = sweep.publish(members, "synthetic", "outputs")
    rows = pd.read_csv(result.root / "tables/sweep.csv", keep_default_na=False)
    assert set(rows.loc[rows["profile"] == "alpha_1.1", "note"]) == {"05_evaluation failed: SYNTHETIC cause"}
    assert set(rows["profile"]) == {"smoke", "alpha_0", "alpha_1.1", "frozen_proposer"}
    bars = pd.read_csv(result.root / "figures/figure4_alpha.csv", comment="#")
    assert list(bars["label"]) == ["SFT", "RL, alpha 0.5", "RL, alpha 0", "RL, frozen proposer"]
    assert list(bars["seeds"]) == [2, 2, 2, 2]
    assert list(bars["main"]) == [False, True, False, False]
    curves = pd.read_csv(result.root / "figures/figure3_training.csv", comment="#")
    assert set(curves["frozen"]) == {True, False}
    assert set(curves["seed"]) == {0, 1}


def test_every_command_says_what_it_is_for():
    from kzlib.commands import compare as c
    from kzlib.commands import summary as s
    from kzlib.commands import sweep as w

    for module in (c, s, w):
        parser = argparse.ArgumentParser()
        module.add_arguments(parser)
        assert module.HELP
        assert all(action.help for action in parser._actions)
