"""Packed rows: what would break if a row saw its neighbour, were lost, or the packing wasted what it is to save."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kzlib.packing import lines_of, packed
from kzlib.policy import build_model, build_tokenizer


@given(st.lists(st.integers(1, 300), min_size=1, max_size=40), st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_every_row_has_one_place_in_a_line_that_holds_it(lengths: list[int], width: int) -> None:
    lines = lines_of(lengths, width)
    assert sorted(i for line in lines for i in line) == list(range(len(lengths)))
    assert all(sum(lengths[i] for i in line) <= max(width, *lengths, 1) for line in lines)


def test_little_of_a_batch_is_padding() -> None:
    draw = random.Random(0)
    for _ in range(20):
        rows = [{"input_ids": [1] * n, "labels": [1] * n} for n in draw.choices([12, 30, 60, 90, 250], k=32)]
        batch = packed(rows, padding=0)
        assert batch["input_ids"].numel() < 1.25 * sum(len(row["input_ids"]) for row in rows)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_row_does_not_see_its_neighbours(attention: str) -> None:
    tokenizer = build_tokenizer(["def f(x): return x + 1", "def g(y): return y * 2"], 300)
    model = build_model(tokenizer, layers=2, hidden=32, heads=2).eval()
    model.set_attn_implementation(attention)
    texts = ["def f(x): return x", "y", "def g(y):", "return y * 2 + 1", "x + 1"]
    rows = [{"input_ids": (ids := tokenizer(t)["input_ids"]), "labels": ids} for t in texts]
    batch = packed(rows, padding=tokenizer.pad_token_id)
    lines = lines_of([len(row["input_ids"]) for row in rows])
    assert len(lines) < len(rows)
    with torch.no_grad():
        together = model(input_ids=batch["input_ids"], position_ids=batch["position_ids"], use_cache=False).logits
        for n, line in enumerate(lines):
            start = 0
            for i in line:
                ids = torch.tensor([rows[i]["input_ids"]])
                alone = model(input_ids=ids, use_cache=False).logits[0]
                torch.testing.assert_close(together[n, start : start + ids.shape[1]], alone, atol=1e-5, rtol=1e-4)
                start += ids.shape[1]
