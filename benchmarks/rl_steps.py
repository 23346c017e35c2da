"""What one RL phase teaches, by the answers in a step and the learning rate: scores before and after, task by task.

    python benchmarks/rl_steps.py outputs/laptop/RUN --coder 8x60@3e-4 32x30@3e-4 --proposer 8x30@1e-4 8x30@7e-4

`8x60@3e-4` is 8 prompts a step, 60 steps, learning rate 3e-4. Every phase begins at the run's cold start. The Coder
trains on modules that the cold start's Proposer writes for the run's harvest sets, and is scored on such modules that
it never saw and on the built-in set, at temperature 1; the Proposer on API sets that it never trained on. Seconds are
medians over the steps. `--uncut` adds, after each Coder's phase, the same one with the rows and the padding that
`kzlib.packing.pulling` leaves out; it meets the same answers, so their verdicts are known.
Source: issue 7, the bar on `laptop`.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

GROUP = 8  # answers a prompt
K = 4  # the frozen Coder's answers a module
HELD = 3  # one module of so many is kept for scoring


@dataclass(frozen=True)
class Phase:
    """`prompts` x GROUP answers a step."""

    prompts: int
    steps: int
    rate: float


def phase(text: str) -> Phase:
    try:
        prompts, _, rest = text.partition("x")
        steps, _, rate = rest.partition("@")
        return Phase(int(prompts), int(steps), float(rate))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no phase: write prompts x steps @ rate, as in 8x60@3e-4") from None


class Bench:
    """A run's cold start, its API sets, and a verifier."""

    def __init__(self, run: Path, verifier: Any, threads: int, modules: int) -> None:
        import torch

        from kzlib import coevolution, policy
        from kzlib.apis.pool import read_pool
        from kzlib.records import Task, read_jsonl
        from kzlib.rewards import Judging
        from kzlib.tasks import load_tasks

        policy.quiet()
        torch.set_num_threads(threads)
        self.run, self.verifier, self.modules, self.judging = run, verifier, modules, Judging(verifier, 1)
        seen = list(read_jsonl(run / "corpus/tasks.jsonl", Task))
        self.sets = {
            split: coevolution.learnable_sets(read_pool(run / "api_sets.jsonl", split), seen, 2 * modules, 1)[0]
            for split in ("train", "harvest")
        }
        self.heldout = load_tasks("heldout")
        self.before: dict[str, Any] = {}  # scores of the cold start, the same for every phase of a role

    def load(self, role: str) -> tuple[Any, Any]:
        from kzlib import policy

        return policy.load(self.run / f"checkpoints/sft_{role}", dtype="float32")

    def proposer_reward(self, end: int, near_copies: bool) -> Any:
        from kzlib import coevolution
        from kzlib.rewards import ProposerReward, module_checks

        coder, tokenizer = self.load("coder")
        solve = coevolution.solver(coder.eval(), tokenizer, "triton", "compact", 640, 1.0, seed=1)
        return ProposerReward(module_checks(self.verifier, 1, near_copies), solve, self.judging, end, K)

    def proposer(self, asked: Phase, folder: Path) -> dict[str, Any]:
        from kzlib import coevolution
        from kzlib.heldout_check import Sampling, proposals

        model, tokenizer = self.load("proposer")
        reward = self.proposer_reward(tokenizer.eos_token_id, near_copies=True)
        fresh = coevolution.draw(self.sets["harvest"], self.modules, 2)
        asked_as = Sampling(1, 320, 1.0, seed=3)

        def scored() -> Any:
            return proposals(model.eval(), tokenizer, fresh, reward, asked_as)

        before = self.before["proposer"] = self.before.get("proposer") or scored()
        log = coevolution.proposer_phase(model, tokenizer, self.sets["train"], reward, _settings(asked, 320), folder)
        after = scored()
        return {
            **_gap("validity", before["validity"], after["validity"]),
            **_gap("frontier_reward", before["frontier_reward"], after["frontier_reward"]),
            **_ends("validity", log),
        }

    def harvest(self, folder: Path) -> tuple[list[Any], dict[str, float]]:
        from kzlib import coevolution

        model, tokenizer = self.load("proposer")
        reward = self.proposer_reward(tokenizer.eos_token_id, near_copies=False)
        settings = _settings(Phase(8, 1, 1e-4), 320)
        rows = coevolution.harvest(
            model.eval(), tokenizer, self.sets["harvest"], reward, self.modules, settings, folder, batch=64
        )
        return coevolution.pool_of(rows)

    def coder(self, asked: Phase, folder: Path, pool: list[Any], rates: dict[str, float]) -> dict[str, Any]:
        from kzlib import coevolution
        from kzlib.rewards import CoderReward

        never = pool[::HELD]
        train = [task for i, task in enumerate(pool) if i % HELD]
        model, tokenizer = self.load("coder")
        sets = {"never_trained": never, "built_in": self.heldout}

        def scored() -> dict[str, dict[str, float]]:
            return {name: self.answers(model.eval(), tokenizer, tasks) for name, tasks in sets.items()}

        before = self.before["coder"] = self.before.get("coder") or scored()
        reward = CoderReward({task.id: task for task in train}, self.judging, tokenizer.eos_token_id)
        log = coevolution.coder_phase(model, tokenizer, train, rates, reward, _settings(asked, 640), folder)
        after = scored()
        gaps = [_gap(name, before[name], after[name]) for name in sets]
        return {**gaps[0], **gaps[1], **_ends("groups/accuracy", log), **_seconds(log)}

    def uncut(self, asked: Phase, folder: Path, pool: list[Any], rates: dict[str, float]) -> dict[str, Any]:
        from unittest.mock import patch

        with patch("kzlib.ca_grpo.pulling", lambda batch: batch):
            return {"rows": "all", **self.coder(asked, folder, pool, rates)}

    def answers(self, model: Any, tokenizer: Any, tasks: Sequence[Any]) -> dict[str, float]:
        """The share of GROUP answers that pass, by task."""
        from kzlib.heldout_check import Sampling, solve_tasks

        asked = Sampling(GROUP, 640, 1.0, seed=3)
        _, verdicts = solve_tasks(model, tokenizer, tasks, self.judging, "triton", asked, "strict")
        judged: dict[str, list[bool]] = {}
        for verdict in verdicts:
            if verdict.judged:
                judged.setdefault(verdict.task_id, []).append(verdict.passed)
        return {task: fmean(passed) for task, passed in judged.items()}


def _settings(asked: Phase, tokens: int) -> Any:
    from kzlib.coevolution import GroupSettings

    return GroupSettings(asked.steps, asked.prompts, GROUP, 32, asked.rate, tokens, save_every=10**6, seed=1)


def _gap(name: str, before: dict[str, float], after: dict[str, float]) -> dict[str, Any]:
    from kzlib.intervals import paired

    gap = paired(before, after)
    at = {"before": fmean(before.values()), "after": fmean(after.values()), "low": gap.low, "high": gap.high}
    return {f"{name}_n": gap.tasks, **{f"{name}_{k}": v if v is None else round(v, 3) for k, v in at.items()}}


def _ends(name: str, log: Sequence[dict[str, Any]]) -> dict[str, float]:
    """What the phase itself showed: the mean over its first and its last third of steps."""
    values = [row[name] for row in log]
    third = max(1, len(values) // 3)
    return {"training_first": round(fmean(values[:third]), 3), "training_last": round(fmean(values[-third:]), 3)}


def _seconds(log: Sequence[dict[str, Any]]) -> dict[str, float]:
    return {name: round(median(row[f"seconds/{name}"] for row in log), 2) for name in ("generate", "verify", "train")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="a finished run with its checkpoints")
    parser.add_argument("--coder", nargs="+", type=phase, default=[], metavar="8x60@3e-4")
    parser.add_argument("--proposer", nargs="+", type=phase, default=[], metavar="8x30@1e-4")
    parser.add_argument("--uncut", action="store_true", help="each Coder's phase once more with rows that pull nowhere")
    parser.add_argument("--modules", type=int, default=200, help="proposed for training and scoring the Coder")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    if not (arguments.run / "checkpoints/sft_coder").exists():
        parser.error(f"{arguments.run} has no checkpoints: give the folder of a finished run, outputs/laptop/<run>")
    rows = list(_rows(arguments))
    if arguments.csv:
        names = list(dict.fromkeys(name for row in rows for name in row))
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0


def _rows(arguments: argparse.Namespace) -> Iterable[dict[str, Any]]:
    from kzlib.verifier import Verifier

    with Verifier("cpu", workers=arguments.workers or None) as verifier, tempfile.TemporaryDirectory() as scratch:
        bench = Bench(arguments.run, verifier, arguments.threads, arguments.modules)
        work: list[tuple[str, Phase, Callable[[Phase, Path], dict[str, Any]]]]
        work = [("proposer", asked, bench.proposer) for asked in arguments.proposer]
        if arguments.coder:
            pool, rates = bench.harvest(Path(scratch) / "harvest")
            ways = [bench.coder, bench.uncut] if arguments.uncut else [bench.coder]
            work += [
                ("coder", asked, partial(way, pool=pool, rates=rates)) for asked in arguments.coder for way in ways
            ]
        for i, (role, asked, measured) in enumerate(work):
            began = time.monotonic()
            head = {"role": role, "answers_a_step": asked.prompts * GROUP, "steps": asked.steps, "rate": asked.rate}
            row = head | measured(asked, Path(scratch) / str(i)) | {"seconds": round(time.monotonic() - began)}
            print(row, flush=True)
            yield row


if __name__ == "__main__":
    raise SystemExit(main())
