"""Muon for the matrices inside a from-scratch model, AdamW for its embeddings and gains, as one optimiser.

Ours, not the paper's (it starts from a pretrained model). A model of a few million parameters that sees a million
tokens learns far more of them this way: `benchmarks/cold_start.py` measures both side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

MATRIX_RATE = 5.0  # Muon's learning rate over AdamW's; ours


class MuonAdamW(torch.optim.Optimizer):
    """`lr` is AdamW's; schedulers see both parts' groups, checkpoints hold both parts' states.

    >>> layer = torch.nn.Linear(4, 4)
    >>> optimizer = MuonAdamW(layer.named_parameters(), lr=1e-3, weight_decay=0.0)
    >>> [group["lr"] for group in optimizer.param_groups]
    [0.005, 0.001]
    """

    def __init__(
        self, named_parameters: Any, lr: float, weight_decay: float, betas: tuple[float, float] = (0.9, 0.98)
    ) -> None:
        named = [(name, p) for name, p in named_parameters if p.requires_grad]
        matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name and "lm_head" not in name]
        inside = {id(p) for p in matrices}
        rest = [p for _, p in named if id(p) not in inside]
        self.parts: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=MATRIX_RATE * lr, weight_decay=weight_decay),
            torch.optim.AdamW(rest, lr=lr, betas=betas, weight_decay=weight_decay),
        ]
        super().__init__([group for part in self.parts for group in part.param_groups], {})

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = closure() if closure else None
        for part in self.parts:
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for part, state in zip(self.parts, state_dict["parts"], strict=True):
            part.load_state_dict(state)
        self.param_groups = [group for part in self.parts for group in part.param_groups]
