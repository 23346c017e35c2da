"""`kz` answers every wrong word with one sentence and an exit code, and imports only what the command needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kzlib import cli, doctor

ROOT = Path(__file__).parents[1]


def kz(*arguments: str, outputs: Path | str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KZ_OUTPUT_ROOT": str(outputs)}
    command = [sys.executable, "-m", "kzlib.cli", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("run", "--profile", "labtop"), "there is no profile labtop (did you mean laptop?)"),
        (("run", "--profile", "smoke", "--only", "02_sft_cold_strat"), "did you mean 02_sft_cold_start?"),
        (("run", "--profile", "smoke", "--from", "05", "--to", "01"), "--from 05 comes after --to 01"),
        (("status", "--profile", "smoke", "--run", "r9"), "there is no run r9 of smoke; there is none yet"),
        (("run", "--profile", "smoke", "--run", "../x"), "cannot name a run"),
    ],
)
def test_a_wrong_word_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    done = kz(*arguments, outputs=tmp_path)
    assert done.returncode in (1, 2)
    assert expected in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("kz: ")


def test_outputs_that_cannot_be_written_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("in the way")
    done = kz("run", "--profile", "smoke", outputs=tmp_path / "outputs")
    assert done.returncode == 1
    assert "outputs cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = kz("run", "--profile", "smoke", outputs=tmp_path / "outputs")
    tmp_path.chmod(0o700)
    assert done.returncode == 1
    assert "outputs cannot be written" in done.stderr


def test_status_and_plan_of_nothing_make_nothing(tmp_path: Path) -> None:
    for command in ("status", "plan"):
        done = kz(command, "--profile", "smoke", outputs=tmp_path / "outputs")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("never run") == 8
    assert not (tmp_path / "outputs").exists()


def test_a_wrong_profile_starts_no_kernel(tmp_path: Path) -> None:
    profile = tmp_path / "mine.yaml"
    profile.write_text("extends: smoke\nsft:\n  sft_step: 3\n")
    done = kz("run", "--profile", str(profile), outputs=tmp_path / "outputs")
    assert done.returncode == 2
    assert done.stderr == "kz: mine.yaml: sft.sft_step is not a setting (did you mean sft_steps?)\n"
    assert not (tmp_path / "outputs").exists()


def test_help_lists_every_command_and_loads_none_of_them() -> None:
    program = "import sys; from kzlib import cli; cli.main(['--help'])"
    heavy = "print([m for m in sys.modules if m in ('torch', 'transformers', 'papermill', 'pandas')], file=sys.stderr)"
    command = [sys.executable, "-c", f"import atexit, sys\natexit.register(lambda: {heavy})\n{program}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    modules = {path.stem for path in (ROOT / "kzlib/commands").glob("*.py") if not path.stem.startswith("_")}
    for name in {"run", "plan", "status", "doctor"} | modules:
        assert f"\n    {name} " in done.stdout or f"\n    {name}\n" in done.stdout, name


def test_every_command_has_a_help_line_and_arguments() -> None:
    for path in (ROOT / "kzlib/commands").glob("*.py"):
        if path.stem.startswith("_"):
            continue
        assert cli._help_line(path), f"{path.name} has no HELP"
        with pytest.raises(SystemExit) as caught:
            cli.main([path.stem, "--help"])
        assert caught.value.code == 0


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "commands" in capsys.readouterr().out


def test_a_reader_that_stops_reading_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m kzlib.cli doctor | head -1"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr


def test_a_fault_of_our_own_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(_: object) -> int:
        raise KeyError("bug")

    monkeypatch.setattr(cli, "_doctor", fault)
    with pytest.raises(KeyError):
        cli.main(["doctor"])


def test_doctor_finds_what_is_here_and_answers_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # a notebook server started elsewhere does not know our folder
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    findings = {finding.name: finding for finding in doctor.examine()}
    assert findings["torch"].ok
    assert not findings["nvcc"].ok
    assert "ninja" in findings["C++ tools"].found  # in the environment's own folder
    assert "CUDA_HOME" in doctor.table(list(findings.values()))
    assert json.dumps(doctor.as_json(list(findings.values())))


def test_doctor_names_what_to_type_for_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED_PACKAGES", ("torch", "no-such-package"))
    text = doctor.table(doctor.examine())
    assert "MISSING  no-such-package" in text
    assert "-> make install" in text
    assert text.endswith("missing: no-such-package")


def test_doctor_names_a_version_that_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of another environment, with an older torch and without ipywidgets, is told before an hour is lost."""
    here = doctor.versions(("numpy", *doctor.NEEDED_PACKAGES))
    monkeypatch.setattr(doctor, "versions", lambda names: here | {"torch": "2.1.0+cu118"})
    findings = {finding.name: finding for finding in doctor.examine()}
    assert not findings["torch"].ok
    assert findings["torch"].found == "2.1.0+cu118, needs <2.14,>=2.11"
    assert findings["ipywidgets"].found == "not installed, needs >=8.1"
    assert "numpy" not in findings  # there and in range: not worth a line


def test_doctor_says_what_to_type_next_and_answers_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    start = time.monotonic()
    assert cli.main(["doctor"]) == 0
    assert time.monotonic() - start < 60  # 2 s on a quiet machine
    assert "next: make run" in capsys.readouterr().out


def test_the_toy_kernel_runs_in_a_child() -> None:
    finding = doctor.try_triton()
    assert finding.ok, finding.found
