"""Step logs and checkpoints after a kill. If these break, a resumed run counts steps twice or starts from a half."""

from __future__ import annotations

import json
from pathlib import Path

from kzlib.training import StepLog, device_arguments, newest_checkpoint, read_steps


def test_rewind_drops_later_steps_and_a_torn_line(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    for step in range(1, 5):
        log.append({"step": step, "reward": step / 2})
    with log.path.open("a") as file:
        file.write('{"step": 5, "rew')
    assert [row["step"] for row in read_steps(log.path)] == [1, 2, 3, 4]
    log.rewind(2)
    log.append({"step": 3, "reward": float("nan")})
    assert read_steps(log.path) == [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 1.0}, {"step": 3, "reward": None}]


def test_a_half_written_checkpoint_is_passed_over_and_removed(tmp_path: Path) -> None:
    for step in (2, 4, 10):
        (tmp_path / f"checkpoint-{step}").mkdir()
    (tmp_path / "checkpoint-2" / "trainer_state.json").write_text(json.dumps({"global_step": 2}))
    (tmp_path / "checkpoint-4" / "trainer_state.json").write_text('{"global_st')
    assert newest_checkpoint(tmp_path) == str(tmp_path / "checkpoint-2")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-2"]
    assert newest_checkpoint(tmp_path / "none") is None


def test_a_cpu_never_gets_bf16() -> None:
    assert device_arguments("cpu")["bf16"] is False
    assert device_arguments("cuda")["bf16"] is True
