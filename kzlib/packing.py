"""Less padding: rows packed into lines, each attending to itself alone, and RL batches cut down to what pulls.

A batch of kernels holds rows of 20 tokens and of 400. Padded, two thirds of it is nothing; cut into parts by length, a
CPU works on matrices too small for two cores. Positions begin anew with every row, from which transformers makes the
mask (`find_packed_sequence_indices`). Source: issue 6, item 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

WIDTH = 256  # tokens of a line at least; attention costs its length squared


def lines_of(lengths: Sequence[int], width: int = WIDTH) -> list[list[int]]:
    """Row numbers a line, longest first, each into the first line with room; no line is longer than the longest row
    or `width`.

    >>> lines_of([100, 30, 200, 90, 20], width=220)
    [[2, 4], [0, 3, 1]]
    """
    width = max([width, *lengths])
    lines: list[list[int]] = []
    room: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        line = next((n for n, left in enumerate(room) if left >= lengths[row]), None)
        if line is None:
            line = len(lines)
            lines.append([])
            room.append(width)
        lines[line].append(row)
        room[line] -= lengths[row]
    return lines


def packed(rows: Sequence[Mapping[str, Any]], padding: int) -> dict[str, torch.Tensor]:
    """Rows of `input_ids` and `labels` -> tensors of (lines, tokens): those two and `position_ids`.

    A row's first label counts for nothing: the token before it belongs to another row.

    >>> batch = packed([{"input_ids": [5, 6], "labels": [-100, 6]}, {"input_ids": [7], "labels": [-100]}], padding=0)
    >>> batch["input_ids"].tolist(), batch["position_ids"].tolist(), batch["labels"].tolist()
    ([[5, 6, 7]], [[0, 1, 0]], [[-100, 6, -100]])
    """
    lines = lines_of([len(row["input_ids"]) for row in rows])
    longest = max(sum(len(rows[i]["input_ids"]) for i in line) for line in lines)
    ids = torch.full((len(lines), longest), padding)
    labels = torch.full((len(lines), longest), -100)
    positions = torch.zeros((len(lines), longest), dtype=torch.long)
    for n, line in enumerate(lines):
        start = 0
        for row in (rows[i] for i in line):
            end = start + len(row["input_ids"])
            ids[n, start:end] = torch.tensor(row["input_ids"])
            labels[n, start + 1 : end] = torch.tensor(row["labels"][1:])
            positions[n, start:end] = torch.arange(end - start)
            start = end
        positions[n, start:] = torch.arange(longest - start)
    return {"input_ids": ids, "labels": labels, "position_ids": positions}


def pulling(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Of an RL batch of TRL's, the rows with an advantage (one, if none has), without columns that none of them fills.

    Prompts are padded on the left, answers on the right. A row of a flat group has an advantage of 0 and so no
    gradient; half of a step's rows are such. A loss that is divided by a number of the whole batch (`dapo`'s tokens)
    keeps its value and its gradient.

    >>> mask = torch.tensor([[0, 1], [1, 1]])
    >>> batch = {"prompt_ids": torch.tensor([[9, 5], [6, 7]]), "prompt_mask": mask, "completion_mask": mask.flip(1)}
    >>> cut = pulling({**batch, "completion_ids": torch.tensor([[3, 9], [4, 5]]), "advantages": torch.tensor([1., 0.])})
    >>> cut["prompt_ids"].tolist(), cut["completion_ids"].tolist()
    ([[5]], [[3]])
    """
    n, width = batch["completion_ids"].shape
    rows = batch["advantages"].nonzero()[:, 0]
    rows = rows if len(rows) else torch.zeros(1, dtype=torch.long, device=rows.device)
    prompts = batch["prompt_ids"].shape[1] - int(batch["prompt_mask"][rows].sum(1).max())
    answers = max(1, int(batch["completion_mask"][rows].sum(1).max()))
    by_row = {k: v[rows] for k, v in batch.items() if isinstance(v, torch.Tensor) and v.dim() and len(v) == n}
    of_prompts = {k: v[:, prompts:] for k, v in by_row.items() if k.startswith("prompt_")}
    of_answers = {k: v[:, :answers] for k, v in by_row.items() if v.dim() == 2 and v.shape[1] == width}
    return {**batch, **by_row, **of_answers, **of_prompts}
