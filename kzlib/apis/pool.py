"""A run's pool of API sets: which are the Proposer's training prompts, which are kept for harvesting modules."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

Split = Literal["train", "harvest"]
SCHEMA = 1


def pool_text(sets: Sequence[tuple[str, ...]], prompts: int) -> str:
    """JSON lines: the first `prompts` sets are the split "train", the rest "harvest" (paper: 400 of 4,000).

    >>> print(pool_text([("torch.exp", "torch.sum"), ("torch.abs", "torch.mm")], prompts=1).splitlines()[1])
    {"schema": 1, "split": "harvest", "apis": ["torch.abs", "torch.mm"]}
    """
    if not 0 < prompts <= len(sets):
        raise ValueError(f"{prompts} prompts of {len(sets)} sets: give a number from 1 to {len(sets)}")
    rows: Iterable[dict[str, object]] = (
        {"schema": SCHEMA, "split": "train" if i < prompts else "harvest", "apis": list(apis)}
        for i, apis in enumerate(sets)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_pool(path: str | os.PathLike[str], split: Split) -> list[tuple[str, ...]]:
    """API sets of one split, in the order drawn. A pool that trains on every set harvests from the same sets."""
    found: dict[str, list[tuple[str, ...]]] = {"train": [], "harvest": []}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        if row.get("schema") != SCHEMA or row.get("split") not in found:
            raise ValueError(f"{path}, line {number}, is no row of an API pool: run notebook 01_data_sampling again")
        found[row["split"]].append(tuple(row["apis"]))
    return found[split] or found["train"]
