"""Trace tasks that somebody else wrote, in walled child processes; only plain data comes back."""

from __future__ import annotations

import atexit
import functools
import json
import socket
from typing import Any

import torch

from kzlib.teacher.graph import Graph, Unsupported, graph_from_json, graph_to_json, trace_namespace
from kzlib.verifier import children, wire
from kzlib.verifier.pool import ForkServer, ServerConfig

SECONDS = 60.0
LARGEST = 1 << 26  # bytes of a graph


@functools.cache
def server() -> ForkServer:
    """The warm server that this process's traces share; it ends with the process."""
    made = ForkServer(ServerConfig(preload=("kzlib.teacher.tracer",)))
    atexit.register(made.close)
    return made


def trace_foreign(source: str, seconds: float = SECONDS) -> Graph:
    """The graph of a task's forward pass; its text runs in a child only. `Unsupported` if it cannot be traced."""
    with server().fork("kzlib.teacher.tracer:main") as child:
        try:
            child.send({"source": source})
            row = json.loads(child.receive(seconds, limit=LARGEST))
        except wire.Deadline:
            raise Unsupported(f"tracing took more than {seconds:.0f} s") from None
        except (wire.Closed, wire.WireError, ValueError, TypeError) as error:
            raise Unsupported("the tracing process ended") from error
    if not isinstance(row, dict) or "error" in row:
        raise Unsupported(
            str(row.get("error", "no graph came back")) if isinstance(row, dict) else "no graph came back"
        )
    try:
        return graph_from_json(row)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise Unsupported("what came back is not a graph") from error


def warm_up() -> None:
    """Touch what every trace touches, before any fork."""
    with torch.no_grad(), torch.device("meta"):
        torch.nn.Linear(4, 4)(torch.randn(2, 4)).sum()


def main(channel: socket.socket, walls: list[str]) -> None:
    """The child: one job {"source"}, one JSON text."""
    source = wire.receive(channel)["source"]
    try:
        row = _graph(source)
    except Unsupported as error:
        row = {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - any failure of generated code is this trace's answer
        row = {"error": f"tracing failed: {type(error).__name__}: {str(error)[:200]}"}
    wire.send(channel, json.dumps(row))


def _graph(source: str) -> dict[str, Any]:
    module, _ = children.load_source(source, "task")
    try:
        return graph_to_json(trace_namespace(vars(module)))
    except (RuntimeError, NotImplementedError, TypeError):
        return graph_to_json(trace_namespace(vars(module), device="cpu"))  # forward reads values: it needs real tensors
