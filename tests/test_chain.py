"""The whole suite in the smoke profile: all notebooks run, a second run does nothing, a touched input runs its readers.

One group, so that under xdist all of it stays in one process and in order.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kzlib.params import load_profile
from kzlib.runner import accept
from kzlib.stages import stages

pytestmark = [pytest.mark.xdist_group("chain"), pytest.mark.timeout(1500)]

ROOT = Path(__file__).parents[1]
EVERY = stages(load_profile("smoke").run.rounds)


@dataclass(frozen=True)
class Chain:
    """A finished smoke run and what `kz run` said."""

    outputs: Path
    root: Path
    said: str

    def kz(self, *arguments: str, outputs: Path | None = None) -> subprocess.CompletedProcess[str]:
        return kz(outputs or self.outputs, *arguments)


def kz(outputs: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kzlib.cli", *arguments]
    environment = {**os.environ, "KZ_OUTPUT_ROOT": str(outputs)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    outputs = tmp_path_factory.mktemp("chain")
    done = kz(outputs, "run", "--profile", "smoke")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    [root] = (outputs / "smoke").iterdir()
    yield Chain(outputs, root, done.stdout)
    shutil.rmtree(outputs, ignore_errors=True)


def test_every_notebook_runs_and_leaves_what_it_promises(chain: Chain) -> None:
    for stage in EVERY:
        copy = chain.root / "notebooks" / f"{stage.name}.ipynb"
        nbformat.validate(nbformat.read(copy, as_version=4))
        assert list(accept.notebook_problems(json.loads(copy.read_text()))) == []
        for output in stage.outputs:
            assert accept.artefact_problem(chain.root / output) is None, output
        assert f"{stage.name}: done in" in chain.said
        for private in (str(ROOT), str(chain.outputs)):
            assert private not in copy.read_text(), f"{copy.name} names {private}"
    for name in ("tasks.jsonl", "answers.jsonl", "verdicts.jsonl", "manifest.json", "params.json", "index.html"):
        assert (chain.root / name).stat().st_size > 0
    for kind in ("pdf", "png", "csv"):
        assert list((chain.root / "figures").glob(f"*.{kind}")), f"no figure as {kind}"


def test_every_artefact_can_be_traced(chain: Chain) -> None:
    manifest = json.loads((chain.root / "manifest.json").read_text())
    names = {stage.name for stage in EVERY}
    for name, entry in manifest["entries"].items():
        assert entry["stage"] in names, name
        assert (chain.root / entry["path"]).exists(), name
        stamp = json.loads((chain.root / "stages" / entry["stage"] / "stamp.json").read_text())
        assert entry["path"] in stamp["outputs"], name
        if entry["kind"] == "figure" and entry["path"].endswith(".png"):
            assert entry["alt"], f"{name} has no text for those who do not see it"


def test_a_second_run_does_nothing_and_says_so_in_seconds(chain: Chain) -> None:
    begin = time.monotonic()
    done = chain.kz("run", "--profile", "smoke")
    assert done.returncode == 0
    assert "nothing to do: every stage is fresh" in done.stdout
    assert time.monotonic() - begin < 20
    status = chain.kz("status", "--profile", "smoke").stdout.splitlines()[1:]
    assert [line.split()[1:] for line in status] == [["fresh"]] * len(EVERY)


@pytest.mark.parametrize(
    ("section", "name", "value", "runs"),
    [("figures", "figure_dpi", 90, ["06_figures"]), ("evaluation", "bootstrap", 150, ["05_evaluation", "06_figures"])],
)
def test_a_touched_setting_runs_only_what_depends_on_it(
    chain: Chain, tmp_path: Path, section: str, name: str, value: int, runs: list[str]
) -> None:
    profile = tmp_path / "smoke.yaml"
    profile.write_text(f"extends: {ROOT / 'params' / 'smoke.yaml'}\n{section}:\n  {name}: {value}\n")
    planned = chain.kz("plan", "--profile", str(profile))
    assert planned.returncode == 0, planned.stderr
    plan = planned.stdout.splitlines()
    assert [line.split()[0] for line in plan if "skip" not in line] == runs
    done = chain.kz("run", "--profile", str(profile))
    assert done.returncode == 0, done.stderr
    executed = [line.split()[1].rstrip(":") for line in done.stdout.splitlines() if ": done in" in line]
    assert executed[0] == runs[0]
    assert set(executed) <= set(runs)
    assert f"{name} changed from" in done.stdout


def test_a_training_that_was_killed_ends_with_the_same_metrics(chain: Chain, tmp_path: Path) -> None:
    """SIGKILL between two checkpoints, run again, and compare with the run that was never disturbed."""
    outputs = tmp_path / "outputs"
    shutil.copytree(chain.root, outputs / "smoke" / chain.root.name)
    root = outputs / "smoke" / chain.root.name
    stage = "04_coder_rl.r1"
    command = [sys.executable, "-m", "kzlib.cli", "run", "--profile", "smoke", "--only", stage, "--force"]
    runner = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "KZ_OUTPUT_ROOT": str(outputs)})
    deadline = time.monotonic() + 300
    while not checkpoints(root / "stages" / stage / "resume"):
        assert runner.poll() is None, "it ended before it had written a checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert "its runner was killed" in kz(outputs, "status", "--profile", "smoke").stdout
    done = kz(outputs, "run", "--profile", "smoke", "--only", stage)
    assert done.returncode == 0, done.stderr
    metrics = f"metrics/{stage.replace('04_', '')}.jsonl"
    assert steps_of(root / metrics) == steps_of(chain.root / metrics)


def checkpoints(folder: Path) -> list[Path]:
    """Whole training checkpoints below a resume folder: the trainer writes its state last."""
    return list(folder.glob("**/checkpoint-*/trainer_state.json"))


def steps_of(path: Path) -> list[dict[str, Any]]:
    """A training's logged steps without what a clock said."""
    clock = ("time", "second", "runtime")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [{k: v for k, v in row.items() if not any(word in k for word in clock)} for row in rows]
