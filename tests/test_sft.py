"""The cold start. If these break, a model is trained on nothing, on other rows after a resume, or on the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rl_doubles import tiny

from kzlib import policy, sft
from kzlib.muon import StackedMuon
from kzlib.prompts import coder_prompt, proposer_prompt
from kzlib.records import Candidate, Task
from kzlib.sft import Example, NothingToLearnError, SFTSettings, batch_order, cold_start, encode
from kzlib.training import read_steps

PAIRS = [Example(f"<|coder|>{'abcd'[i % 4] * (i % 5 + 1)}<|kernel|>", "efgh"[i % 4] * 3) for i in range(24)]
SETTINGS = SFTSettings(steps=8, batch_size=4, learning_rate=1e-2, save_every=3, eval_every=4, seed=1, muon=True)


def test_only_the_completion_and_the_end_token_are_learned() -> None:
    _, tokenizer = tiny()
    row = encode(PAIRS[:1], tokenizer, 64)[0]
    learned = [token for token in row["labels"] if token != -100]
    assert tokenizer.decode(learned) == "eee<|end|>"
    assert [a for a, b in zip(row["input_ids"], row["labels"], strict=True) if b == -100] == tokenizer(PAIRS[0].prompt)[
        "input_ids"
    ]


def test_rows_without_room_for_their_completion_stop_the_run_before_step_one() -> None:
    _, tokenizer = tiny()
    long = [Example("a" * 2000, "b" * 300) for _ in range(3)]
    with pytest.raises(NothingToLearnError, match=r"3 of 3 rows \(100%\).*in 1024 tokens.*row 0: prompt 2000"):
        encode(long, tokenizer, 1024)
    with pytest.raises(NothingToLearnError, match="no rows given"):
        encode([], tokenizer, 1024)
    assert len(encode([*PAIRS, *long], tokenizer, 1024)) == len(PAIRS)  # a few are left out, not cut


@given(st.lists(st.integers(1, 99), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 30), st.integers(0, 5))
@settings(max_examples=100, deadline=None)
def test_every_batch_is_full_and_rows_are_used_evenly(lengths: list[int], batch: int, steps: int, seed: int) -> None:
    order = batch_order(lengths, batch, steps, seed)
    assert len(order) == batch * steps
    assert set(order) <= set(range(len(lengths)))
    assert order == batch_order(lengths, batch, steps, seed)


def test_a_step_sees_rows_of_all_lengths() -> None:
    lengths = [10 + 37 * i % 300 for i in range(640)]
    order = batch_order(lengths, 32, 40, seed=0)
    batches = [[lengths[i] for i in order[k : k + 32]] for k in range(0, len(order), 32)]
    assert all(min(batch) < 110 and max(batch) > 210 for batch in batches)


def test_cut_into_parts_a_batch_teaches_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def losses(name: str) -> list[float]:
        model, tokenizer = tiny()
        train = encode(PAIRS, tokenizer, 64)
        log = cold_start(model, tokenizer, train, None, tmp_path / name, SFTSettings(3, 8, 1e-2, seed=1))
        return [row["loss"] for row in log]

    in_parts = losses("parts")
    monkeypatch.setattr(sft, "micro_batches", lambda settings: 1)
    assert in_parts == pytest.approx(losses("whole"), rel=1e-3)


@given(st.integers(1, 5), st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_stacked_muon_moves_weights_as_torch_muon_does(count: int, rows: int, columns: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    ours = [torch.nn.Parameter(torch.randn(rows, columns, generator=draw)) for _ in range(count)]
    theirs = [torch.nn.Parameter(p.detach().clone()) for p in ours]
    stacked, plain = StackedMuon(ours, 0.02, 0.1), torch.optim.Muon(theirs, 0.02, 0.1)
    for _ in range(3):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(rows, columns, generator=draw)
            b.grad = a.grad.clone()
        stacked.step()
        plain.step()
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, atol=3e-3)  # three steps of 0.02, products in bf16


def run(folder: Path, **changes: Any) -> tuple[Any, Path]:
    model, tokenizer = tiny()
    rows = encode(PAIRS, tokenizer, 64)
    cold_start(
        model, tokenizer, rows, rows.select(range(4)), folder / "ckpt", SETTINGS, folder / "log.jsonl", **changes
    )
    return model, folder / "log.jsonl"


def test_killed_and_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(row: dict[str, Any]) -> None:
        if row["step"] == 5:
            raise KilledError

    model, log = run(tmp_path / "a")
    with pytest.raises(KilledError):
        run(tmp_path / "b", on_step=kill)
    again, log_again = run(tmp_path / "b")
    assert policy.fingerprint(model) == policy.fingerprint(again)
    assert read_steps(log) == read_steps(log_again)
    rows = read_steps(log)
    assert [row["step"] for row in rows if "loss" in row] == list(range(1, 9))
    assert [row["step"] for row in rows if "eval_loss" in row] == [4, 8]
    assert rows[0]["loss"] > [row["loss"] for row in rows if "loss" in row][-1]


def test_the_probe_sees_the_model_as_it_trains_and_changes_nothing(tmp_path: Path) -> None:
    seen = []

    def probe(step: int, model: Any) -> None:
        _, tokenizer = tiny()
        texts = policy.generate(model, tokenizer, [PAIRS[0].prompt], 2, 8, seed=step)
        seen.append((step, len(texts[0]), model.training))

    model, log = run(tmp_path / "a", probe=probe, probe_every=4)
    plain, plain_log = run(tmp_path / "b")
    assert [(s, n) for s, n, _ in seen] == [(4, 2), (8, 2)]
    assert read_steps(log) == read_steps(plain_log)
    assert policy.fingerprint(model) == policy.fingerprint(plain)


def test_both_roles_have_examples() -> None:
    task = Task("class Model: pass", apis=("torch.exp", "torch.relu"))
    (coder,) = sft.coder_examples([(task, Candidate(task.id, "triton", "class ModelNew: pass"))])
    assert coder.prompt == coder_prompt(task.source, "triton")
    assert coder.completion == "class ModelNew: pass\n"
    (proposer,) = sft.proposer_examples([task, Task("no apis")])
    assert proposer.prompt == proposer_prompt(task.apis)
    assert proposer.completion == "class Model: pass\n"
