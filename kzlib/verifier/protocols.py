"""The two protocols as data: what each asks of the same children. Source: DESIGN section 6; systems.md 1.6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ProtocolName = Literal["strict", "keck"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """`plain_sets` sets as the task makes them, `probes` of other scale and offset; `shake` moves constant weights;
    `other_shape` asks once more at another batch, which no verdict depends on."""

    name: ProtocolName
    plain_sets: int
    probes: bool
    shake: bool
    float64: bool
    checks_task: bool
    evidence: bool
    entries: tuple[str, ...]
    fixed_seed: int | None
    other_shape: bool = False
    run_seconds: float = 20.0
    load_seconds: float = 30.0

    @property
    def sets(self) -> int:
        """Input sets a reference prepares."""
        return self.plain_sets + (3 if self.probes else 0) + self.other_shape


STRICT = Protocol("strict", 2, True, True, True, True, True, ("ModelNew",), None, True)
# The paper's published validator: one input set from seed 42, 1e-2, a class of either name, no question how it is done.
KECK = Protocol("keck", 1, False, False, False, False, False, ("ModelNew", "Model"), 42)
PROTOCOLS: dict[str, Protocol] = {"strict": STRICT, "keck": KECK}
