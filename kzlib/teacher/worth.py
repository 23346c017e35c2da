"""Is a module of the grammar worth a sample? It must depend on its inputs, stay finite, and beat null predictors.

A cheap form of the verifier's own gates, so that few samples are thrown away there.
"""

from __future__ import annotations

from typing import Any

import torch


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=0.02, atol=1e-3)


def worth(space: dict[str, Any]) -> bool:
    """Run the executed module twice on the CPU; true if its answers are finite, differ, and are not near a constant."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        model = space["Model"](*space["get_init_inputs"]())
        inputs, others = space["get_inputs"](), space["get_inputs"]()
        first, second = _flat(model(*inputs)), _flat(model(*others))
    if not all(bool(torch.isfinite(t).all()) for t in (*first, *second)) or not first:
        return False
    if all(close(a, b) for a, b in zip(first, second, strict=True)):
        return False
    constant = all(close(a, a.mean().expand_as(a)) for a in first if a.numel() > 1)
    if constant and any(a.numel() > 1 for a in first):
        return False
    given = [t.float() for t in inputs if isinstance(t, torch.Tensor)]
    return not any(x.shape == a.shape and close(a, x) for x in given for a in first)


def _flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value.float()]
    return [t for v in value for t in _flat(v)] if isinstance(value, (tuple, list)) else []
