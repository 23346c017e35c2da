"""What a task's tensors take, found on tensors without memory, in a child of the fork server. Source: issue 4."""

from __future__ import annotations

import socket
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kzlib.verifier import children, precompile, wire


def sizes_main(channel: socket.socket, walls: list[str]) -> None:
    """What a task's tensors take; nothing where the meta device does not have the values: the caller assumes a size."""
    source = wire.receive(channel)["source"]
    try:
        told = sizes(source)
    except Exception as error:  # noqa: BLE001 - generated code may raise anything
        told = {"message": f"{type(error).__name__}: {error}"[:200]}
    wire.send(channel, {"event": "sizes", **told})


def sizes(source: str) -> dict[str, Any]:
    """Bytes of a task's inputs, answer, weights and workspace: everything is made and run on the meta device."""
    with torch.device("meta"), torch.no_grad():
        module, _ = children.load_source(source, "task")
        inputs = module.get_inputs()
        model = module.Model(*(module.get_init_inputs() if hasattr(module, "get_init_inputs") else []))
        with Sizes() as seen:
            output = model(*inputs)
    return {"inputs": bytes_of(inputs), "outputs": bytes_of(output), "weights": bytes_of(children.all_state(model)),
            "workspace": 2 * seen.largest}  # fmt: skip


# What the meta device imports at its first use takes seconds: once here, and not in every child.
_WARM_TASK = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
            torch.nn.Linear(36, 8), torch.nn.GELU(), torch.nn.LayerNorm(8))
    def forward(self, x): return torch.softmax(self.layers(x).clamp(0, 1) * 2, -1).sum(-1, keepdim=True)
def get_inputs(): return [torch.rand(2, 3, 8, 8) + torch.randn(2, 3, 8, 8)]
"""


def warm_up_meta() -> None:
    """Use the meta device once, in the fork server's own scratch folder; no CUDA call."""
    sizes(_WARM_TASK)
    with precompile.Elsewhere(), torch.no_grad():
        torch.nn.Linear(4, 4).cuda()(torch.randn(2, 4, device="cuda"))


class Sizes(TorchDispatchMode):
    """Bytes of the largest result of any operator."""

    largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not getattr(func, "is_view", False):
            self.largest = max(self.largest, bytes_of(result))
        return result


def bytes_of(value: Any) -> int:
    """Bytes of every tensor of a tree."""
    return sum(t.numel() * t.element_size() for t in children.tensors_of(value))
