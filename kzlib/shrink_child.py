"""The process that tries one size of a task: does it run, and what comes out? Runs in a child of the fork server."""

from __future__ import annotations

import copy
import socket
from typing import Any

import torch

from kzlib.verifier import children, wire


def warm_up() -> None:
    """Touch what every trial touches, before any fork."""
    with torch.no_grad():
        torch.nn.Linear(4, 4)(torch.randn(2, 4)).sum()


def main(channel: socket.socket, walls: list[str]) -> None:
    """Answer one job: {"source", "device": "cpu" or "meta"}."""
    job = wire.receive(channel)
    try:
        reply = _try(job["source"], job["device"])
    except Exception as error:  # noqa: BLE001 - any failure of generated code is this trial's answer
        reply = {"runs": False, "sound": False, "ranks": [], "message": f"{type(error).__name__}: {error}"[:300]}
    wire.send(channel, reply)


def _try(source: str, device: str) -> dict[str, Any]:
    module, _ = children.load_source(source, "task")
    children.seed_everything(0)
    with torch.no_grad(), torch.device(device):
        init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        model = module.Model(*init)
        inputs = module.get_inputs()
        twin = copy.deepcopy(inputs)
        first = _tensors(model(*inputs))
        ranks = [tensor.dim() for tensor in first]
        if device == "meta":
            return {"runs": True, "sound": True, "ranks": ranks, "message": ""}
        message = _unsound(first, _tensors(model(*twin)))
    return {"runs": True, "sound": not message, "ranks": ranks, "message": message}


def _unsound(first: list[torch.Tensor], again: list[torch.Tensor]) -> str:
    if not first or any(not tensor.numel() for tensor in first):
        return "an output is empty"
    if not all(bool(torch.isfinite(t).all()) for t in first if t.is_floating_point()):
        return "an output is not finite"
    if not all(torch.equal(a, b) for a, b in zip(first, again, strict=True)):
        return "two calls differ"
    if all(t.numel() > 1 and bool((t == t.flatten()[0]).all()) for t in first):
        return "the output is constant"
    return ""


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return []
