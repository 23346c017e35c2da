"""The benchmark of RL phases: what it is asked for, and how it reads a phase's own curve."""

from __future__ import annotations

import argparse

import pytest

from benchmarks import rl_steps


def test_a_phase_is_prompts_steps_and_a_rate() -> None:
    assert rl_steps.phase("8x60@3e-4") == rl_steps.Phase(prompts=8, steps=60, rate=3e-4)
    for wrong in ("8@3e-4", "8x60", "eightx60@1", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="write prompts x steps @ rate"):
            rl_steps.phase(wrong)


def test_scores_are_compared_task_by_task_and_ends_by_thirds() -> None:
    gap = rl_steps._gap("built_in", {"a": 0.25, "b": 0.5}, {"a": 0.5, "b": 0.75})
    assert (gap["built_in_n"], gap["built_in_before"], gap["built_in_after"]) == (2, 0.375, 0.625)
    log = [{"validity": value} for value in (0.0, 0.2, 0.5, 0.5, 0.8, 1.0)]
    assert rl_steps._ends("validity", log) == {"training_first": 0.1, "training_last": 0.9}


def test_a_folder_without_checkpoints_is_refused(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("sys.argv", ["rl_steps.py", str(tmp_path), "--coder", "8x1@1e-4"])
    with pytest.raises(SystemExit) as refused:
        rl_steps.main()
    assert refused.value.code == 2 and "no checkpoints" in capsys.readouterr().err
