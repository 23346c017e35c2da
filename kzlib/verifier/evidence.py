"""What the run-time evidence says about how right values came about: honest kernel, library, or a trick.

Rules read facts (launches, operators, effect of corruption), never the source text. Source: DESIGN section 6, point 6;
issue 3; verifiers.md section 4, groups B and C; reports P05, P06, P09.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kzlib.records import Outcome
from kzlib.verifier.affine import same_line
from kzlib.verifier.ops import families, kind_of

# Switches that let library products use fewer bits than the declared precision mode.
PRECISION_FLAGS = {"allow_tf32", "cudnn_tf32", "matmul_precision", "fp16_reduction", "bf16_reduction", "default_dtype"}
# Reference operators that a kernel which only moves or rescales values can honestly stand for.
MOVES = frozenset({
    "index", "index_select", "embedding", "gather", "take", "flip", "roll", "cat", "stack", "repeat", "where",
    "repeat_interleave", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "upsample_nearest1d",
    "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact2d", "reflection_pad1d", "reflection_pad2d",
    "replication_pad1d", "replication_pad2d", "tril", "triu", "im2col", "col2im", "rot90", "masked_fill", "scatter",
    "index_put", "diag_embed",
})  # fmt: skip
LINEAR = frozenset({
    "add", "sub", "rsub", "mul", "div", "neg", "lerp", "addcmul", "native_dropout", "batch_norm", "layer_norm",
    "group_norm", "instance_norm", "avg_pool2d", "mean", "cumsum",
})  # fmt: skip


A_FEW = 16  # elements a call may fetch from a device, or send there, without mention: sizes, flags


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict by evidence: PASS with labels, or why not."""

    outcome: Outcome
    message: str
    facts: dict[str, Any]


def judge_evidence(
    report: dict[str, Any], reference_ops: list[dict[str, Any]], corruption_changed: bool | None,
    straight: Callable[[], bool] = lambda: False,
) -> Finding:  # fmt: skip
    """Read the facts of the honest calls of a candidate whose every output was right.

    `straight` tells whether the reference's own answer is a straight line of its input (the square of a root, say).
    """
    calls = [call for call in report["calls"] if not call["corrupt"] and not call.get("watched")]
    looked = [launch for call in report["calls"] if call.get("watched") for launch in call["launches"]]
    launches = [launch for call in calls for launch in call["launches"]]
    used = families(row for call in calls for row in call["ops"])
    needed = families(reference_ops)
    facts: dict[str, Any] = {
        "kernels": sorted({launch["name"] for launch in launches}),
        "launches": len(calls[0]["launches"]) if calls else 0,
        "library_ops": sorted(used), "reference_ops": sorted(needed), "kernel_share": kernel_share(calls),
        "corruption_changes_output": corruption_changed,
    }  # fmt: skip
    for way in ("to_host", "to_device"):
        moved = sum(row.get(way, 0) for row in calls[0]["ops"]) if calls else 0
        if moved > A_FEW:
            facts[f"elements_{way}"] = moved
    if report["flags"]:
        facts["flags_changed"] = report["flags"]

    def found(outcome: Outcome, message: str) -> Finding:
        return Finding(outcome, message, facts)

    if report["tampered"]:
        facts["tampered"] = report["tampered"]
        return found(Outcome.CHEAT, f"the code replaced {', '.join(report['tampered'][:3])}")
    if report["threads"] > 0:
        return found(Outcome.CHEAT, f"{report['threads']} threads were still running when forward had returned")
    lowered = sorted(PRECISION_FLAGS & set(report["flags"]))
    if lowered:
        return found(Outcome.CHEAT, f"the code changed the global switch {lowered[0]}")
    if not launches:
        return found(Outcome.LIBRARY_ONLY, "no kernel of its own was launched")
    if not any(launch["stores"] for launch in launches):
        return found(Outcome.CHEAT, "its kernels never store anything")
    if corruption_changed is False:
        return found(Outcome.CHEAT, "spoiling everything its kernels write does not change the answer")
    if needed and needed <= used:
        return found(Outcome.CHEAT, f"the library still does all of the reference's work ({', '.join(sorted(needed))})")
    hidden = only_lines(looked or launches) and not only_of_what_was_given(looked or launches)
    if needed - used - MOVES - LINEAR and hidden and not straight():
        return found(Outcome.CHEAT, "its kernels only copy or rescale what something else computed")
    facts["label"] = "partial: library operators remain" if used else "own kernels only"
    return found(Outcome.PASS, "")


def only_lines(launches: list[dict[str, Any]]) -> bool:
    """True when each kernel, in every call, stored one straight line of what it had loaded, with its own constants."""
    lines: dict[str, tuple[float, float]] = {}
    for launch in launches:
        if not launch["stores"]:
            continue
        if not launch["copy"]:
            return False
        found = launch.get("line") or (1.0, 0.0)
        if not same_line(lines.setdefault(launch["name"], found), found):
            return False
    return True


def only_of_what_was_given(launches: list[dict[str, Any]]) -> bool:
    """True when all that was stored came from inputs and weights as the judge gave them: nobody else computed it, and
    the task itself is a straight line there (hardsigmoid's middle of an embedding, the padded square of a root)."""
    return all(launch.get("given", False) for launch in launches if launch["stores"])


def conflict(report: dict[str, Any]) -> str:
    """The first conflict between programs of one launch, in words; empty if there is none."""
    rows = (launch["conflict"] for call in report["calls"] if not call["corrupt"] for launch in call["launches"])
    return next((text for text in rows if text), "")


def kernel_share(calls: list[dict[str, Any]]) -> float:
    """Share of the bytes moved by own kernels rather than by computing library operators, 0 to 1."""
    own = sum(launch["loaded"] + launch["stored"] for call in calls for launch in call["launches"])
    library = sum(
        row["read"] + row["written"] for call in calls for row in call["ops"] if kind_of(row["op"]) == "compute"
    )
    return round(own / (own + library), 4) if own + library else 0.0
