"""A reader must never see half a file, and a run's folder must say what each file is."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from kzlib import environment, progress, seeds, stages, workspace
from kzlib.workspace import MissingInputError, Run, open_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path))
    return open_run("outputs", "smoke", "r1", stage="01_data_sampling")


def test_latest_is_the_newest_and_is_made_when_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path))
    first = open_run("outputs", "smoke")
    assert first.root.is_dir()
    (tmp_path / "smoke" / "99991231-000000-abc").mkdir()
    assert open_run("outputs", "smoke").name == "99991231-000000-abc"
    assert open_run("outputs", "smoke", first.name).root == first.root


def test_output_root_is_relative_to_the_project_not_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KZ_OUTPUT_ROOT")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workspace, "ROOT", tmp_path / "project")
    assert open_run("outputs", "smoke", "r1").root == tmp_path / "project" / "outputs" / "smoke" / "r1"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b"])
def test_a_run_name_cannot_leave_the_outputs(name: str) -> None:
    with pytest.raises(ValueError, match="cannot name a run"):
        open_run("outputs", "smoke", name)


def test_a_path_cannot_leave_the_run(run: Run) -> None:
    with pytest.raises(ValueError, match="outside the run"):
        run.path("../other/x.json")


def test_a_missing_input_is_one_sentence_that_names_the_notebook(run: Run) -> None:
    with pytest.raises(MissingInputError) as caught:
        run.require("checkpoints/sft_coder", made_by="02_sft_cold_start")
    assert "run notebook 02_sft_cold_start first (kz run --profile smoke --to 02_sft_cold_start)" in str(caught.value)
    assert len(caught.value._render_traceback_()) == 1
    assert str(run.root) not in str(caught.value)


def test_a_failed_write_leaves_the_old_file_and_no_litter(run: Run) -> None:
    run.write_json("a.json", {"x": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        run.write_json("a.json", {"x": float("nan")})
    with pytest.raises(RuntimeError), run.replacing("a.json") as scratch:
        scratch.write_text("half")
        raise RuntimeError
    assert json.loads(run.path("a.json").read_text()) == {"x": 1}
    assert [p.name for p in run.root.iterdir()] == ["a.json"]


def test_a_folder_is_replaced_whole(run: Run) -> None:
    for name in ("old", "new"):
        with run.replacing("checkpoints/coder") as folder:
            folder.mkdir()
            (folder / name).write_text(name)
    assert [p.name for p in run.path("checkpoints/coder").iterdir()] == ["new"]
    assert [p.name for p in run.path("checkpoints/x").parent.iterdir()] == ["coder"]
    with pytest.raises(FileNotFoundError, match="nothing was written"), run.replacing("checkpoints/coder"):
        pass
    assert run.path("checkpoints/coder/new").exists()


def test_the_manifest_names_producer_digest_and_size(run: Run) -> None:
    run.write_text("t.txt", "abc")
    entry = run.record("text", "t.txt", kind="text", alt="three letters", rows=1)
    assert entry == run.manifest()["entries"]["text"]
    assert (entry["stage"], entry["bytes"], entry["facts"]) == ("01_data_sampling", 3, {"rows": 1})
    before = entry["digest"]
    run.write_text("t.txt", "abd")
    assert run.record("text", "t.txt", kind="text")["digest"] != before
    with pytest.raises(FileNotFoundError, match="write it before recording"):
        run.record("x", "nothing.txt", kind="text")


def _record_many(root: Path, who: int) -> None:
    run = Run(root, "smoke", "r1", f"stage{who}")
    for number in range(20):
        run.write_text(f"{who}.{number}.txt", "x")
        run.record(f"{who}.{number}", f"{who}.{number}.txt", kind="text")


def test_two_writers_of_the_manifest_lose_nothing(run: Run) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_record_many, args=(run.root, who)) for who in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(run.manifest()["entries"]) == 60


def test_a_broken_manifest_is_named(run: Run) -> None:
    run.write_text("manifest.json", "{")
    with pytest.raises(ValueError, match=r"manifest\.json .* is not JSON"):
        run.manifest()


def test_resume_folders_belong_to_a_key_and_go_at_the_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    interactive = run.resume_dir("train")
    monkeypatch.setenv("KZ_STAGE_KEY", "a" * 16)
    assert run.resume_dir("train") != interactive
    run.finish()
    assert not interactive.exists()
    record = json.loads(run.path("stages/01_data_sampling/finish.json").read_text())
    assert (record["run_id"], record["outcome"]) == ("interactive", "done")


def test_digest_sees_names_and_contents(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("1")
    assert workspace.digest(tmp_path / "a") == workspace.digest(tmp_path / "b")
    (tmp_path / "b" / "x").rename(tmp_path / "b" / "y")
    assert workspace.digest(tmp_path / "a") != workspace.digest(tmp_path / "b")


def test_outputs_that_cannot_be_made_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outputs").write_text("a file where the folder should be")
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path / "outputs"))
    with pytest.raises(RuntimeError, match=r"outputs cannot be written .* set KZ_OUTPUT_ROOT"):
        open_run("outputs", "smoke")


def test_environment_names_no_user_host_or_path() -> None:
    text = json.dumps(environment.environment())
    assert environment.environment()["packages"]["torch"]
    for private in (str(environment.ROOT), f"{Path.home()}/", os.uname().nodename):
        assert len(private) < 4 or private not in text


def test_child_seeds_differ_by_purpose_and_are_fixed_for_ever() -> None:
    assert seeds.child_seed(0, "coder", 1) == 1757797173  # a change here changes every result
    assert len({seeds.child_seed(root, name, n) for root in range(5) for name in "ab" for n in range(50)}) == 500
    assert seeds.child_seed(0, "ab", "c") != seeds.child_seed(0, "a", "bc")


def test_headless_progress_is_sparse_and_ends_with_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in progress.track(range(5000), "judge"):
        pass
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 3
    assert lines[-1].startswith("» judge 5000/5000  done in")


def test_progress_shows_values_and_time_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = progress.Progress("train", 10)
    for step in range(4):
        now[0] += 30
        bar.update(1, reward=step / 10)
    bar.close()
    bar.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "» train 1/10  reward 0  4 min 30 s left"
    assert lines[-1] == "» train 4/10  reward 0.3  done in 2 min 0 s"
    assert len(lines) == 5


def test_stages_make_disjoint_outputs_and_need_only_what_an_earlier_one_makes() -> None:
    for rounds in (1, 4):
        made: list[str] = []
        names = []
        for stage in stages.stages(rounds):
            for path in stage.inputs:
                assert "*" in path or path in made, f"{stage.name} reads {path}, which no earlier stage makes"
            assert not set(stage.outputs) & set(made)
            made.extend(stage.outputs)
            names.append(stage.name)
        assert len(set(names)) == len(names) == 6 + 2 * rounds
        last = ("05", "06", "07")
        assert names == sorted(names, key=lambda n: (n[:2] in last, n.rpartition(".r")[2] if ".r" in n else ""))
