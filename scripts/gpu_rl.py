"""CA-GRPO on GPUs: how long a step takes and where its seconds go; one process against two.

    python scripts/gpu_rl.py prepare --out OUT                       # a 30 M Coder, cold-started on teacher pairs
    python scripts/gpu_rl.py step --model OUT/model --out OUT        # 256 answers a step, on one GPU
    python scripts/gpu_rl.py ten --model OUT/model --out OUT         # ten steps on one GPU
    torchrun --nproc_per_node 2 scripts/gpu_rl.py ten --model OUT/model --out OUT  # the same on two
    python scripts/gpu_rl.py compare --out OUT                       # first-step rewards and tokens a second

The first step of `ten` scores one saved batch of answers on any number of processes: every process samples from a
stream of its own. Source: issue 7, bars.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from kzlib import coevolution, policy, sft
from kzlib.ca_grpo import CAGRPOTrainer
from kzlib.prompts import coder_prompt
from kzlib.records import Task, append_jsonl, read_jsonl
from kzlib.rewards import CoderReward, Judging
from kzlib.training import read_steps
from kzlib.verifier import Verifier

FAMILIES = ["elementwise", "activation", "reduction", "softmax", "matmul"]
RANK, WORLD = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
CUDA = torch.cuda.is_available()
DEVICE = f"cuda:{RANK}" if CUDA else "cpu"


def prepare(args: argparse.Namespace) -> None:
    """Pairs from the teacher (not judged: the measurement needs a Coder that writes kernels, not a good one)."""
    from kzlib import teacher

    started = time.perf_counter()
    samples = list(teacher.generate(args.pairs, 0, families=FAMILIES, styles="plain"))
    pairs = [(s.task, s.candidate) for s in samples if len(s.candidate.source) < 1600]
    examples = sft.coder_examples(pairs)
    tokenizer = policy.build_tokenizer(sft.texts(examples), 4096 if CUDA else 1024)
    size = {"layers": 8, "hidden": 512, "heads": 8} if CUDA else {"layers": 2, "hidden": 64, "heads": 2}
    model = policy.build_model(tokenizer, **size, max_positions=4096)
    made = time.perf_counter() - started
    settings = sft.SFTSettings(
        args.sft_steps, 32, 1e-3, max_tokens=1024, save_every=10**6, device="cuda" if CUDA else "cpu"
    )
    rows = sft.encode(examples, tokenizer, 1024)
    log = sft.cold_start(model.to(DEVICE), tokenizer, rows, None, args.out / "sft", settings, args.out / "sft.jsonl")
    policy.save(model.to("cpu"), tokenizer, args.out / "model")
    tasks = list({task.id: task for task, _ in pairs}.values())[-64:]
    (args.out / "tasks.jsonl").unlink(missing_ok=True)
    append_jsonl(args.out / "tasks.jsonl", tasks)
    write(args, "prepare", {
        "parameters": policy.count_parameters(model), "pairs": len(pairs), "seconds_to_make_pairs": made,
        "seconds_to_train": time.perf_counter() - started - made, "loss": log[-2:],
        "tokens": read_steps(args.out / "sft.jsonl")[-1]["tokens"],
    })  # fmt: skip


class Replayed(CAGRPOTrainer):
    """The first step's answers come from a file; a run without one writes it."""

    first: Path

    def _generate_single_turn(self, prompt_ids: list, *rest: Any, **kwargs: Any) -> Any:
        n = len(prompt_ids)
        if self.state.global_step == 0 and self.first.exists():
            ids = json.loads(self.first.read_text())
            return ids[self.accelerator.process_index * n :][:n], None
        ids, logprobs = super()._generate_single_turn(prompt_ids, *rest, **kwargs)
        if self.state.global_step == 0 and WORLD == 1:
            self.first.write_text(json.dumps(ids))
        return ids, logprobs


def train(args: argparse.Namespace, name: str, steps: int) -> list[dict[str, Any]]:
    model, tokenizer = policy.load(args.model, DEVICE, dtype="float32")
    pool = list(read_jsonl(args.out / "tasks.jsonl", Task))
    judge = Judging(Verifier(device=DEVICE, workers=args.workers or None), seed=1)
    reward = CoderReward({t.id: t for t in pool}, judge, tokenizer.eos_token_id)
    settings = coevolution.GroupSettings(
        steps, args.answers // args.group, args.group, args.micro, 1e-5, args.tokens, save_every=10**6,
        device="cuda" if CUDA else "cpu", processes=WORLD,
    )  # fmt: skip
    Replayed.first = args.out / "first_answers.json"
    plan = coevolution.stabilized((), reward, coevolution.CAGRPO(), settings, "compact")
    plan = coevolution.Plan(Replayed, plan.rewards, plan.facts, plan.summary, plan.extra)
    folder = args.out / f"{name}.{WORLD}"
    tasks = coevolution.draw(pool, steps * settings.prompts_per_step, seed=2)
    rows = [
        {"prompt": coder_prompt(t.source, "triton"), "ask": "", "task_id": t.id, "backend": "triton"} for t in tasks
    ]
    log = coevolution._train(plan, model, tokenizer, rows, settings, folder, None)
    judge.verifier.close()
    return log


def step(args: argparse.Namespace) -> None:
    log = train(args, "step", args.steps)
    parts = ("generate", "verify", "train")
    rows = [{p: row[f"seconds/{p}"] for p in parts} | {"total": sum(row[f"seconds/{p}"] for p in parts)} for row in log]
    write(args, "step", {"answers": args.answers, "steps": rows, "log": log})
    for row in rows:
        print("  ".join(f"{k} {v:6.2f} s" for k, v in row.items()))


def ten(args: argparse.Namespace) -> None:
    started = time.perf_counter()
    log = train(args, "ten", args.steps)
    if RANK == 0:
        rollouts = read_steps(args.out / f"ten.{WORLD}" / "rollouts.jsonl")
        first = sorted((r["answer"]["text"], r["reward"]) for r in rollouts if r["step"] == 1)
        busy = sum(row[f"seconds/{p}"] for row in log[1:] for p in ("generate", "verify", "train"))
        tokens = log[-1]["tokens"] - log[0]["tokens"]
        write(args, f"ten.{WORLD}", {
            "first_rewards": [r for _, r in first], "tokens_per_second": tokens / busy,
            "seconds": time.perf_counter() - started, "log": log,
        })  # fmt: skip


def compare(args: argparse.Namespace) -> None:
    one, two = (json.loads((args.out / f"ten.{n}.json").read_text()) for n in (1, 2))
    print("same first-step rewards:", one["first_rewards"] == two["first_rewards"])
    print(f"tokens a second: {one['tokens_per_second']:.0f} on one process, {two['tokens_per_second']:.0f} on two")
    print(f"ratio {two['tokens_per_second'] / one['tokens_per_second']:.2f}")


def write(args: argparse.Namespace, name: str, facts: dict[str, Any]) -> None:
    facts |= {"device": torch.cuda.get_device_name() if CUDA else "cpu", "processes": WORLD}
    (args.out / f"{name}.json").write_text(json.dumps(facts, indent=1))
    print(name, {k: v for k, v in facts.items() if k not in ("log", "steps", "first_rewards")})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "step", "ten", "compare"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--sft-steps", type=int, default=500)
    parser.add_argument("--answers", type=int, default=256)
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--micro", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    policy.quiet()
    args.out.mkdir(parents=True, exist_ok=True)
    {"prepare": prepare, "step": step, "ten": ten, "compare": compare}[args.what](args)


if __name__ == "__main__":
    main()
