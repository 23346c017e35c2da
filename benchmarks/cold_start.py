"""What a cold start learns in a given number of steps, under AdamW and under Muon, side by side on this machine.

    python benchmarks/cold_start.py --samples 3000 --steps 1500 --optimizers adamw,muon

The teacher's samples are not verified here: this measures learning, not kernels for keeps. The pass rates are the
strict verifier's, on the built-in held-out set and on teacher's modules kept apart. `--csv` writes a table.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

FAMILIES = "elementwise,activation,reduction,softmax,matmul,norm"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--vocabulary", type=int, default=3072)
    parser.add_argument("--families", default=FAMILIES, help="comma-separated; empty for all")
    parser.add_argument("--optimizers", default="adamw,muon")
    parser.add_argument("--answers", type=int, default=4, help="a held-out task")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    pairs = _samples(arguments)
    rows = [_measured(arguments, pairs, name) for name in arguments.optimizers.split(",")]
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


def _samples(arguments: argparse.Namespace) -> list[Any]:
    from kzlib.teacher import generate

    families = arguments.families.split(",") if arguments.families else None
    return [(s.task, s.candidate) for s in generate(arguments.samples, seed=0, families=families)]


def _measured(arguments: argparse.Namespace, pairs: list[Any], optimizer: str) -> dict[str, Any]:
    from kzlib import policy, sft
    from kzlib.heldout_check import Sampling, pass_rate, solve_tasks
    from kzlib.rewards import Judging
    from kzlib.tasks import load_tasks
    from kzlib.verifier import Verifier

    policy.quiet()
    held = len(pairs) // 20
    examples = sft.coder_examples(pairs)
    tokenizer = policy.build_tokenizer(sft.texts(examples[held:]), arguments.vocabulary)
    train, apart = (sft.encode(part, tokenizer, 640) for part in (examples[held:], examples[:held]))
    model = policy.build_model(
        tokenizer, layers=arguments.layers, hidden=arguments.hidden, heads=arguments.hidden // 32
    )
    settings = sft.SFTSettings(
        arguments.steps,
        arguments.batch,
        arguments.rate,
        max_tokens=640,
        eval_every=max(1, arguments.steps // 4),
        save_every=10**9,
        muon=optimizer == "muon",
    )
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        log = sft.cold_start(model, tokenizer, train, apart, folder, settings)
    print([r for r in log if "eval_loss" in r], f"{time.monotonic() - began:.0f} s", flush=True)
    row: dict[str, Any] = {
        "optimizer": optimizer, **{k: getattr(arguments, k) for k in ("samples", "steps", "batch", "rate", "families")},
        "parameters": policy.count_parameters(model), "tokens_a_sample": round(_mean(map(len, train["input_ids"])), 1),
        "heldout_loss": next(r["eval_loss"] for r in reversed(log) if "eval_loss" in r),
        "train_seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip
    with Verifier(device="cpu") as verifier:
        sets = {f"level{level}": load_tasks(f"heldout:{level}") for level in (1, 2)}
        sets["teacher"] = [task for task, _ in pairs[: min(held, 60)]]
        sampling = Sampling(arguments.answers, 400, 0.4, 1)
        for name, tasks in sets.items():
            _, verdicts = solve_tasks(model, tokenizer, tasks, Judging(verifier, 1), "triton", sampling, "strict")
            row[f"pass_1_{name}"] = pass_rate(verdicts)
            row[f"solved_{name}"] = ",".join(
                t.origin for t in tasks if any(v.passed for v in verdicts if v.task_id == t.id)
            )
    row |= {"machine": platform.machine(), "date": datetime.date.today().isoformat()}
    print(row, flush=True)
    return row


def _mean(values: Any) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


if __name__ == "__main__":
    main()
