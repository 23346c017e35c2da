"""CA-GRPO on GPUs: how long a step takes and where its seconds go; one process against two.

    python scripts/gpu_rl.py prepare --out OUT            # a 28 M Coder, cold-started on teacher pairs (about 90 s)
    python scripts/gpu_rl.py step --out OUT --steps 4     # 256 answers a step, on one GPU
    python scripts/gpu_rl.py ten --out OUT                # ten steps on one GPU
    python scripts/gpu_rl.py two --out OUT                # the same ten on two GPUs, and both side by side

`--run FOLDER` takes the cold start and the first harvest of a run instead of `prepare`'s Coder and modules, which are
too easy to say much about time. The first step of `ten` scores one saved batch of answers on any number of processes,
because every process samples from a stream of its own. Each process sees one card (CUDA_VISIBLE_DEVICES) and judges
on it. Tables go to OUT as JSON and as CSV. Source: issue 7, bars.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import socket
import subprocess
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
RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
PARTS = ("generate", "verify", "train")


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
    batch = 64 if CUDA else 8
    settings = sft.SFTSettings(args.sft_steps, batch, 2e-3, max_tokens=1024, save_every=10**6, device=DEVICE, muon=True)
    rows = sft.encode(examples, tokenizer, 1024)
    log = sft.cold_start(model.to(DEVICE), tokenizer, rows, None, args.out / "sft", settings, args.out / "sft.jsonl")
    trained = time.perf_counter() - started - made
    policy.save(policy.kept(model, DEVICE), tokenizer, args.out / "model")
    tasks = list({task.id: task for task, _ in pairs}.values())[-64:]
    (args.out / "tasks.jsonl").unlink(missing_ok=True)
    append_jsonl(args.out / "tasks.jsonl", tasks)
    tokens = read_steps(args.out / "sft.jsonl")[-1]["tokens"]
    write(args, "prepare", {
        "parameters": policy.count_parameters(model), "pairs": len(pairs), "seconds_to_make_pairs": made,
        "seconds_to_train": trained, "loss": [row["loss"] for row in log if "loss" in row][-1], "tokens": tokens,
        "tokens_per_second": tokens / trained,
    })  # fmt: skip


class Replayed(CAGRPOTrainer):
    """The first step's answers come from a file; a run on one process without one writes it."""

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


def harvested(run: Path) -> list[Task]:
    """The modules of the run's first harvest, which notebook 04 trains on."""
    by_id = {task.id: task for task in read_jsonl(run / "records/tasks.03_proposer_rl.r1.jsonl", Task)}
    return [by_id[name] for name in json.loads((run / "metrics/harvest.r1.json").read_text())["pool"]]


def train(args: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    """Steps of CA-GRPO on the strict verifier; the step log's rows, with the kernels that were really judged."""
    source = args.run / "checkpoints" / "sft_coder" if args.run else args.out / "model"
    model, tokenizer = policy.load(source, DEVICE, dtype="float32")
    pool = harvested(args.run) if args.run else list(read_jsonl(args.out / "tasks.jsonl", Task))
    workers = args.workers or max(1, len(os.sched_getaffinity(0)) // WORLD)
    with Verifier("cuda:0" if CUDA else "cpu", workers, screen=args.screen) as verifier:
        judge = Judging(verifier, seed=1)
        reward = CoderReward({t.id: t for t in pool}, judge, tokenizer.eos_token_id)
        settings = coevolution.GroupSettings(
            args.steps, args.answers // args.group, args.group, args.micro, 1e-5, args.tokens, save_every=10**6,
            device=DEVICE, processes=WORLD,
        )  # fmt: skip
        Replayed.first = args.out / "first_answers.json"
        plan = coevolution.stabilized((), reward, coevolution.CAGRPO(), settings, "compact")
        plan = coevolution.Plan(Replayed, plan.rewards, plan.facts, plan.summary, plan.extra)
        tasks = coevolution.draw(pool, args.steps * settings.prompts_per_step, seed=2)
        rows = [
            {"prompt": coder_prompt(t.source, "triton"), "ask": "", "task_id": t.id, "backend": "triton"} for t in tasks
        ]
        folder = args.out / f"{name}.{WORLD}.{os.getpid() if WORLD == 1 else os.environ['MASTER_PORT']}"
        log = coevolution._train(plan, model, tokenizer, rows, settings, folder, show if RANK == 0 else None)
    args.rollouts = folder / "rollouts.jsonl"
    return log


def show(row: dict[str, Any]) -> None:
    seconds = "  ".join(f"{part} {row[f'seconds/{part}']:6.2f} s" for part in PARTS)
    print(f"step {row['step']:2}  {seconds}  {row['outcomes']}", flush=True)


def step(args: argparse.Namespace) -> None:
    """The bar: 15 s a step of 256 answers. The first step warms caches up and is shown apart."""
    log = train(args, "step")
    rows = [{p: row[f"seconds/{p}"] for p in PARTS} | {"total": seconds_of(row)} for row in log]
    later = rows[1:] or rows
    mean = {k: sum(row[k] for row in later) / len(later) for k in rows[0]}
    write(args, "step", {"answers": args.answers, "mean": mean, "log": log})
    shares = ", ".join(f"{p} {mean[p] / mean['total']:.0%}" for p in PARTS)
    print(f"{args.answers} answers: first step {rows[0]['total']:.1f} s, then {mean['total']:.1f} s a step: {shares}")
    save_csv(args, "step", log)


def ten(args: argparse.Namespace) -> None:
    log = train(args, "ten")
    if RANK:
        return
    first = sorted(
        ((r["answer"]["task_id"], r["answer"]["text"], r["outcome"], r["reward"]) for r in read_steps(args.rollouts)
         if r["step"] == 1),
        key=lambda row: (*row[:3], row[3] or 0.0),
    )  # fmt: skip
    busy = sum(map(seconds_of, log[1:]))
    tokens = log[-1]["tokens"] - log[0]["tokens"]
    write(args, f"ten.{WORLD}", {
        "first": [row[2:] for row in first], "tokens_per_second": tokens / busy, "seconds": busy, "log": log,
    })  # fmt: skip
    save_csv(args, f"ten on {WORLD}", log)


def seconds_of(row: dict[str, Any]) -> float:
    return sum(row[f"seconds/{part}"] for part in PARTS)


def two(args: argparse.Namespace) -> None:
    """Two processes of this script, one card each, joined as `torchrun` joins processes of two machines."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}
    command = [sys.executable, __file__, "ten", *sys.argv[2:]]
    children = [
        subprocess.Popen(
            command,
            env={**os.environ, **shared, "MASTER_PORT": port, "RANK": str(i), "CUDA_VISIBLE_DEVICES": str(i)},
        )
        for i in range(2)
    ]
    codes = [child.wait() for child in children]
    if any(codes):
        raise SystemExit(f"the two processes ended with {codes}: see their output above")
    compare(args)


def compare(args: argparse.Namespace) -> None:
    one, both = (json.loads((args.out / f"ten.{n}.json").read_text()) for n in (1, 2))
    outcomes = [[outcome for outcome, _ in run["first"]] for run in (one, both)]
    print("same outcomes of the first step:", outcomes[0] == outcomes[1], f"({len(outcomes[0])} answers)")
    gaps = [abs((a or 0.0) - (b or 0.0)) for (_, a), (_, b) in zip(one["first"], both["first"], strict=True)]
    print(f"largest difference of a reward: {max(gaps):.4f} (0.1 x the noise of S, which is timed anew)")
    for gpus, run in ((1, one), (2, both)):
        print(f"{gpus} GPU: {run['tokens_per_second']:.0f} tokens a second over {run['seconds']:.1f} s")
    print(f"ratio {both['tokens_per_second'] / one['tokens_per_second']:.2f}")


def save_csv(args: argparse.Namespace, what: str, log: list[dict[str, Any]]) -> None:
    """One row a step, added to OUT/gpu-rl.csv."""
    path = args.out / "gpu-rl.csv"
    device = torch.cuda.get_device_name() if CUDA else "cpu"
    rows = [
        {"what": what, "device": device, "processes": WORLD, "step": row["step"], "answers": row["answers"],
         "answer_tokens": round(row["answer_tokens"], 1), "tokens": int(row["tokens"]),
         **{f"{part}_s": round(row[f"seconds/{part}"], 3) for part in PARTS}, "total_s": round(seconds_of(row), 3),
         "accuracy": round(row["groups/accuracy"], 3), "gate_open": round(row["groups/gate_open"], 3)}
        for row in log
    ]  # fmt: skip
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        if new:
            writer.writeheader()
        writer.writerows(rows)


def write(args: argparse.Namespace, name: str, facts: dict[str, Any]) -> None:
    facts |= {"device": torch.cuda.get_device_name() if CUDA else "cpu", "processes": WORLD}
    (args.out / f"{name}.json").write_text(json.dumps(facts, indent=1))
    print(name, {k: v for k, v in facts.items() if k not in ("log", "first")}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "step", "ten", "two", "compare"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--run", type=Path, help="a run's folder: its cold start and first harvest")
    parser.add_argument("--pairs", type=int, default=3000)
    parser.add_argument("--sft-steps", type=int, default=400)
    parser.add_argument("--answers", type=int, default=256)
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--micro", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0, help="judged at once by a process (default: its cores)")
    parser.add_argument("--screen", action="store_true", help="as in profile gpu: the interpreter sees answers first")
    args = parser.parse_args()
    policy.quiet()
    args.out.mkdir(parents=True, exist_ok=True)
    {"prepare": prepare, "step": step, "ten": ten, "two": two, "compare": compare}[args.what](args)


if __name__ == "__main__":
    main()
