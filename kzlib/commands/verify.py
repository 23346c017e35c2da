"""`kz verify`: judge one candidate file against one task file. Source: issue 3, item 1."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kzlib.records import Verdict

HELP = "judge a kernel against a Torch module: right, honest, how fast"

USAGE_ERROR, INFRA_ERROR = 2, 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `kz verify`."""
    parser.add_argument(
        "--task", required=True, type=Path, help="Python file with class Model, get_inputs, get_init_inputs"
    )
    parser.add_argument("--candidate", required=True, type=Path, help="Python file with class ModelNew")
    parser.add_argument("--backend", required=True, choices=("triton", "cuda"), help="what the candidate is written in")
    parser.add_argument(
        "--protocol", default="strict", choices=("strict", "keck"), help="strict, or the paper's own check"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu (Triton's interpreter) or cuda:N")
    parser.add_argument("--seed", type=int, help="replay a verdict: the seed it printed")
    parser.add_argument("--json", action="store_true", help="print the verdict as one JSON object")


def run(args: argparse.Namespace) -> int:
    """0 when a verdict was reached, whatever it is; 2 for bad usage; 3 when this machine failed (`infra`)."""
    from kzlib.records import Candidate, Outcome, Task, to_json
    from kzlib.verifier import verify

    try:
        task = Task(args.task.read_text(encoding="utf-8"), origin=args.task.name)
        candidate = Candidate(task.id, args.backend, args.candidate.read_text(encoding="utf-8"))
        verdict = next(verify([task], [candidate], protocol=args.protocol, device=args.device, seed=args.seed))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        print(f"kz verify: {error}", file=sys.stderr)
        return USAGE_ERROR
    if args.json:
        print(json.dumps(to_json(verdict)))
    else:
        print(_text(verdict))
    return INFRA_ERROR if verdict.outcome is Outcome.INFRA else 0


def _text(verdict: Verdict) -> str:
    lines = [f"{verdict.outcome.value} ({verdict.protocol} protocol, {verdict.where}, seed {verdict.seed})"]
    if verdict.message:
        lines.append(verdict.message)
    timing = verdict.timing
    if timing:
        lines.append(
            f"{timing.kind}: {timing.candidate_us:.1f} us, reference {timing.baseline_us:.1f} us, {timing.speedup:.2f}x"
        )
    return "\n".join(lines)
