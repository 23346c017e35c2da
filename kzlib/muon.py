"""Muon for the matrices inside a from-scratch model, AdamW for its embeddings and gains, as one optimiser.

Ours, not the paper's (it starts from a pretrained model). A model of a few million parameters that sees a million
tokens learns far more of them this way: `benchmarks/cold_start.py` measures both side by side.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

MATRIX_RATE = 5.0  # Muon's learning rate over AdamW's; ours


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """Newton-Schulz: each of [n, rows, columns] towards the nearest matrix with equal singular values, in bf16.

    torch.optim.Muon's iteration and coefficients, for a stack: fewer launches on a GPU, the same arithmetic. In fp32 on
    a CPU whose instructions have no bf16.

    >>> q = orthogonal(torch.randn(3, 8, 4, generator=torch.Generator().manual_seed(0)))
    >>> bool((torch.linalg.svdvals(q.float()) - 1).abs().max() < 0.5)
    True
    """
    native = matrices.device.type != "cpu" or torch.cpu._is_avx512_bf16_supported()
    tall = matrices.size(1) > matrices.size(2)
    x = (matrices.mT if tall else matrices).to(torch.bfloat16 if native else torch.float32)
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x.mT if tall else x


class StackedMuon(torch.optim.Muon):
    """torch.optim.Muon with its plain settings; matrices of one shape go through `orthogonal` together."""

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = closure() if closure else None
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[torch.Tensor]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    by_shape[p.shape].append(p)
            for shape, parameters in by_shape.items():
                self._move(parameters, group, math.sqrt(max(1.0, shape[0] / shape[1])))
        return loss

    def _move(self, parameters: list[torch.Tensor], group: dict[str, Any], stretch: float) -> None:
        for p in parameters:
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = torch.zeros_like(p)
        gradients = torch.stack([p.grad for p in parameters if p.grad is not None])
        buffers = [self.state[p]["momentum_buffer"] for p in parameters]
        torch._foreach_lerp_(buffers, gradients.unbind(), 1 - group["momentum"])
        steps = orthogonal(gradients.lerp(torch.stack(buffers), group["momentum"])).to(gradients.dtype)
        torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(parameters, steps.unbind(), alpha=-group["lr"] * stretch)


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
            StackedMuon(matrices, lr=MATRIX_RATE * lr, weight_decay=weight_decay),
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
