"""A graph of values: each node is a label over the nodes it reads, made once, its digest free of the order."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

Node = int

# Reading these of a tensor does not read its values.
METADATA = frozenset({
    "attribute shape", "attribute dtype", "attribute device", "attribute ndim", "method size", "method dim",
    "method numel", "method stride", "method new_zeros", "method new_ones", "method new_full", "method new_empty",
})  # fmt: skip


@dataclass(slots=True)
class ValueGraph:
    """Nodes of one module's computation. `outputs` are what `forward` returns, `parameters` its required arguments.

    >>> graph = ValueGraph()
    >>> x = graph.node("input 0")
    >>> graph.node("relu", x, operator=True) == graph.node("relu", x)
    True
    """

    nodes: list[tuple[str, tuple[Node, ...]]] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    parameters: tuple[str, ...] = ()
    digests: list[str] = field(default_factory=list)
    _places: dict[tuple[str, tuple[Node, ...], int], Node] = field(default_factory=dict)
    _operators: set[Node] = field(default_factory=set)
    _instances: dict[Node, int] = field(default_factory=dict)

    def node(self, label: str, *operands: Node, operator: bool = False, instance: int = 0) -> Node:
        """The node of this label over these operands; `operator` marks what computes.

        Nodes of different `instance` (layers with weights of their own) are different nodes with equal digests.
        """
        key = (label, operands, instance)
        if key not in self._places:
            self._places[key] = len(self.nodes)
            self.nodes.append((label, operands))
            text = "\0".join([label, *(self.digests[o] for o in operands)])
            self.digests.append(hashlib.sha256(text.encode()).hexdigest()[:24])
        if instance:
            self._instances[self._places[key]] = instance
        if operator:
            self._operators.add(self._places[key])
        return self._places[key]

    def instance(self, node: Node) -> int:
        """Which layer with weights of its own a node is, 0 for none."""
        return self._instances.get(node, 0)

    def label(self, node: Node) -> str:
        """A node's label alone."""
        return self.nodes[node][0]

    def digest(self) -> str:
        """Equal for modules whose outputs are equal nodes, in the same order.

        The numbers of nodes and of layers tell a(x) * b(x) from a(x) * a(x), and a(x) + b(y) from a(x) + a(y), where
        layers a and b look alike.
        """
        reached = self.reached()
        layers = len({self._instances[node] for node in reached & self._instances.keys()})
        parts = [str(len(reached)), str(layers), *(self.digests[o] for o in self.outputs)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def reached(self, values_only: bool = False) -> set[Node]:
        """Nodes that the outputs need; `values_only` leaves out what is only asked for its shape or type."""
        found: set[Node] = set()
        waiting = list(self.outputs)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                label, operands = self.nodes[node]
                waiting += () if values_only and label in METADATA else operands
        return found

    def operators(self) -> Counter[str]:
        """How often each Torch concept or Python operator is applied on the way to the outputs."""
        return Counter(self.label(node) for node in self.reached() & self._operators)

    def unused_inputs(self) -> list[str]:
        """Required parameters of `forward` that no output reads."""
        used = {self.label(node) for node in self.reached(values_only=True)}
        return [name for i, name in enumerate(self.parameters) if f"input {i}" not in used]
