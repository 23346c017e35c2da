"""Packing a run between two machines. If these break, GPU minutes are paid twice."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import gpu_session


def run_folder(root: Path) -> Path:
    for name in ("sft_coder", "coder.r1", "coder.r2", "proposer.r2"):
        (root / "checkpoints" / name).mkdir(parents=True)
        (root / "checkpoints" / name / "model.safetensors").write_bytes(name.encode() * 900)
    for path, text in (
        ("stages/01_data_sampling/stamp.json", "{}"),
        ("stages/02_sft_cold_start/resume/k/sft_coder/checkpoints/checkpoint-5/optimizer.pt", "heavy"),
        ("stages/02_sft_cold_start/resume/k/corpus/triton.jsonl", '{"step": 1}\n'),
        ("notebooks/01_data_sampling.ipynb", "{}"),
        ("notebooks/01_data_sampling.html", "a page"),
        ("metrics/coder_rl.r1.jsonl", '{"step": 1, "tokens": 7, "seconds/train": 2.0, "seconds/verify": 3.0}\n'),
        ("stages/04_coder_rl.r1/stamp.json", "{}"),
        ("stages/04_coder_rl.r1/resume/k/went_on.jsonl", "{}\n"),
        ("corpus/all.jsonl", "{}\n"),
        ("records/verdicts.04_coder_rl.r1.jsonl", "{}\n{}\n"),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


def test_a_packed_run_comes_back_bit_for_bit_without_what_is_too_heavy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path / "there"))
    monkeypatch.setattr(gpu_session, "PIECE", 4096)
    root = run_folder(tmp_path / "here")
    said = gpu_session.pack(root, tmp_path / "out", limit=1 << 20)
    pieces = sorted((tmp_path / "out").iterdir())
    assert len(pieces) > 2
    assert all(p.stat().st_size <= 4096 for p in pieces)
    assert "without" not in said
    gpu_session.unpack(argparse.Namespace(profile="smoke", run="r", output_root="x", state=tmp_path / "out"))
    there = tmp_path / "there" / "smoke" / "r"
    missing = files(root) - files(there)
    assert {Path(name).name for name in missing} == {
        "optimizer.pt", "01_data_sampling.html", "went_on.jsonl", "all.jsonl",
    }  # fmt: skip
    assert files(there) <= files(root)
    assert all((there / name).read_bytes() == (root / name).read_bytes() for name in files(there))


def test_the_newest_weights_travel_first(tmp_path: Path) -> None:
    root = run_folder(tmp_path / "here")
    assert [p.name for p in gpu_session.weights(root)] == ["coder.r2", "proposer.r2", "sft_coder", "coder.r1"]
    said = gpu_session.pack(root, tmp_path / "out", limit=100_000)
    assert said.endswith("without sft_coder, coder.r1")
    with pytest.raises(ValueError, match="raise --limit-mb"):
        gpu_session.pack(root, tmp_path / "out", limit=10)


def test_costs_count_steps_tokens_and_verdicts(tmp_path: Path) -> None:
    rows = {str(row["stage"]): row for row in gpu_session.costs(run_folder(tmp_path))}
    row = rows["04_coder_rl.r1"]
    assert (row["steps"], row["tokens"], row["verdicts"], row["train"], row["verify"]) == (1, 7, 2, 2.0, 3.0)
    assert (row["finished"], rows["02_sft_cold_start"]["finished"]) == (True, False)
    assert "04_coder_rl.r1" in gpu_session.table(list(rows.values()))


def test_pieces_of_another_kind_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KZ_OUTPUT_ROOT", str(tmp_path / "there"))
    with pytest.raises(FileNotFoundError, match="give the folder that `run` packed into"):
        gpu_session.unpack(argparse.Namespace(profile="smoke", run="r", output_root="x", state=tmp_path))
