"""Rows of a batch packed into lines of one length, each attending to itself alone.

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
