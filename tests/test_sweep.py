"""A sweep on the real runner: ablations that start over, repeat work or hide a failure cost a night."""

from __future__ import annotations

import json
import shutil

import pytest
from test_runner import CHAIN, ZOO, one

from kzlib import sweep
from kzlib.params import load_profile
from kzlib.runner import Context, Selection, run_profile, stamps
from kzlib.runner.borrow import borrow
from kzlib.workspace import Run, digest, open_run

SHORT = CHAIN[:2]


class Executor:
    """What `kz sweep` gives, with tiny notebooks of tests/notebooks in place of the suite."""

    def __init__(self, stages=SHORT):
        self.stages, self.executed, self.said = stages, [], []

    def __call__(self, run, params):
        count = run_profile(Context(run, params, self.stages, ZOO), Selection(), self.said.append)
        self.executed.append((params.profile, params.run.seed, count))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A sweep of one profile and one seed that has ended."""
    folder = tmp_path_factory.mktemp("done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KZ_OUTPUT_ROOT", str(folder))
        executor = Executor()
        sweep.run_all(["smoke"], [0], "outputs", executor, executor.said.append)
    assert executor.executed == [("smoke", 0, 2)]
    return folder


@pytest.fixture
def root(done, tmp_path, monkeypatch):
    shutil.copytree(done / "smoke", tmp_path / "smoke")
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path))
    return tmp_path


def test_what_is_done_is_skipped_and_what_was_stopped_goes_on(root):
    executor = Executor()
    sweep.run_all(["smoke"], [0], "outputs", executor, executor.said.append)
    (root / "smoke/seed0/b.json").unlink()  # as if the sweep had been killed before its last notebook
    (root / "smoke/seed0/stages/second/stamp.json").unlink()
    members = sweep.run_all(["smoke"], [0], "outputs", executor, executor.said.append)
    assert executor.executed == [("smoke", 0, 0), ("smoke", 0, 1)]
    assert [m.failure for m in members] == [""]


def asks(profile: str, seed: int = 0) -> tuple[Context, list[Run]]:
    params = load_profile(profile, {"run.seed": seed})
    return Context(open_run("outputs", profile, f"seed{seed}"), params, SHORT, ZOO), [
        open_run("outputs", "smoke", "seed0")
    ]


def test_an_ablation_copies_what_the_first_profile_has_under_the_same_key(root):
    said: list[str] = []
    context, donors = asks("alpha_0")  # these notebooks read no alpha
    donors[0].record("b", "b.json", kind="number")
    manifest = json.loads((root / "smoke/seed0/manifest.json").read_text())
    manifest["entries"]["b"]["stage"] = "second"
    (root / "smoke/seed0/manifest.json").write_text(json.dumps(manifest))
    assert borrow(context, donors, said.append) == ["first", "second"]
    assert said[-1] == "second: the same as in smoke/seed0, copied from there"
    assert all(stamps.state_of(stage, context.again()).word == "fresh" for stage in SHORT)
    ours = root / "alpha_0/seed0"
    assert digest(ours / "b.json") == digest(root / "smoke/seed0/b.json")
    assert json.loads((ours / "stages/second/stamp.json").read_text())["copied_from"] == "smoke/seed0"
    mine = json.loads((ours / "manifest.json").read_text())
    assert (mine["profile"], mine["entries"]["b"]["digest"]) == ("alpha_0", digest(ours / "b.json"))
    assert (ours / "notebooks/second.ipynb").exists()
    assert borrow(context.again(), donors, said.append) == []  # nothing is copied twice


def test_another_seed_borrows_nothing(root):
    context, donors = asks("smoke", seed=1)
    assert borrow(context, donors, str) == []


def test_a_donor_whose_file_was_changed_lends_nothing_from_there_on(root):
    context, donors = asks("alpha_0")
    (donors[0].root / "b.json").write_text("99")
    assert borrow(context, donors, str) == ["first"]
    assert not (context.root / "b.json").exists()


def test_a_failed_member_is_named_and_the_others_still_run(root):
    good, bad = Executor(), Executor(one("cell_error"))
    members = sweep.run_all(
        ["alpha_0", "smoke"], [0], "outputs",
        lambda run, params: (bad if params.profile == "alpha_0" else good)(run, params), good.said.append,
    )  # fmt: skip
    assert "the data are wrong" in members[0].failure
    assert (members[1].failure, good.executed) == ("", [("smoke", 0, 0)])
    rows = sweep.table(members)
    assert [row["note"] for row in rows] == [members[0].failure, "not evaluated"]
    assert all(row["value"] is None for row in rows)
