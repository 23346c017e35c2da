"""A run folder that looks like a real one. Its numbers are drawn from a seeded generator: SYNTHETIC, never a result."""

from __future__ import annotations

import base64
import dataclasses
import json
import random
from dataclasses import dataclass
from pathlib import Path

import nbformat

from kzlib import figures, frames, scores
from kzlib.evaluation import Subject, evaluate
from kzlib.params import load_profile
from kzlib.records import Outcome, Task, Timing, Verdict, append_jsonl
from kzlib.stages import stages
from kzlib.workspace import Run, environment, open_run

MODULE = """import torch

class Model(torch.nn.Module):  # synthetic task {i}
    def forward(self, x):
        return torch.relu(x) * {i}


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""
KERNEL = "```python\nimport triton\n\n\nclass ModelNew:  # synthetic answer {i}\n    pass\n```"
LONG = "class Model: value = '" + "a_very_long_line_" * 30 + "'"


@dataclass
class Text:
    text: str
    tokens: int
    finish_reason: str


def make_run(
    root: Path, name: str = "synthetic", profile: str = "smoke", seed: int = 0, skill: float = 0.5, alpha: float = 0.5,
    protocols=("strict", "keck"), tasks: int = 12, where: str = "cpu-interpreter", kind: str = "modelled",
    drawn: bool = True,
) -> Run:  # fmt: skip
    """A finished run with three models' worth of answers, step logs, stamps, figures and executed notebooks."""
    run = open_run(root, profile, name)
    params = load_profile(profile, {"run.seed": seed, "coder.alpha": alpha})
    run.write_json("params.json", params.model_dump())
    rng = random.Random(f"{name} {seed}")
    _training(run, rng, rounds=params.proposer.freeze_after_round + 1)
    pool = [
        Task(MODULE.format(i=i), apis=("torch.relu",), origin="synthetic", level=1 + i % 2) for i in range(tasks - 1)
    ]
    pool.append(Task(LONG, origin="synthetic", level=1))
    append_jsonl(run.path("records/tasks.05_evaluation.jsonl"), pool)
    attempts = []
    for model, chance in (("coder.r0", skill / 2), ("coder.r1", skill)):
        subject = Subject(model, "synthetic", "triton", 4, seed)
        attempts += evaluate(
            subject, pool, _writer(rng), _judge(rng, chance, where, kind), lambda t: t.source,
            run.root / "scratch", protocols, say=lambda text: None,
        )  # fmt: skip
    for what in ("answers", "verdicts"):
        with run.path(f"records/{what}.05_evaluation.jsonl").open("wb") as file:
            for path in sorted((run.root / "scratch").glob(f"{what}.*.jsonl")):
                file.write(path.read_bytes())
    scores.write_attempts(run.path("metrics/attempts.csv"), attempts)
    names = [f"torch.api{i}" for i in range(8)]
    ends = {
        model: {what: {n: rng.random() for n in names} for what in ("validity", "frontier_reward")}
        for model in ("sft_proposer", "proposer.r1")
    }
    check = {"models": list(ends), "coder": "sft_coder", "samples": 4, "scores": ends}
    run.write_json("metrics/proposer_check.json", check)
    _stamps(run)
    if drawn:
        _figures(run, attempts)
        _notebook(run)
    return run


def _writer(rng: random.Random):
    def write(prompts, n, seed):
        def one():
            if rng.random() < 0.15:
                return Text("I do not know <script>alert(1)</script>", 7, "stop")
            return Text(KERNEL.format(i=rng.randrange(10**6)), rng.randrange(50, 90), "stop")

        return [[one() for _ in range(n)] for _ in prompts]

    return write


def _judge(rng: random.Random, chance: float, where: str, kind: str):
    bad = [
        Outcome.WRONG,
        Outcome.CHEAT,
        Outcome.LIBRARY_ONLY,
        Outcome.COMPILE_FAIL,
        Outcome.RUNTIME_FAIL,
        Outcome.TIMEOUT,
    ]

    def judge(tasks, candidates, protocol):
        for c in candidates:
            right = rng.random() < chance
            outcome = Outcome.PASS if right else rng.choice(bad)
            speed = rng.lognormvariate(0.1, 0.4)
            timing = Timing(10.0, 10.0 * speed, speed, kind, 5, 0.1) if right else None
            yield Verdict(
                c.task_id, c.id, c.backend, outcome, "done", where, protocol,
                "" if right else f"SYNTHETIC {outcome.value}: <b>not</b> a real message",
                {"precision": "ieee"}, timing, {"run": 0.1}, 1,
            )  # fmt: skip

    return judge


def _training(run: Run, rng: random.Random, rounds: int) -> None:
    def write(name: str, rows: list[dict]) -> None:
        run.write_text(f"metrics/{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def climb(a: float, b: float, i: int, n: int) -> float:
        return a + (b - a) * i / n + rng.gauss(0, 0.03)

    n, seconds = 20, {"seconds/generate": 1.0, "seconds/verify": 2.0, "seconds/train": 0.5}
    proposer = [
        {"step": i, "validity": climb(0.4, 0.9, i, n), "coder_accuracy": climb(0.1, 0.5, i, n)}
        | {"frontier_reward": climb(0.0, 0.7, i, n)} | seconds for i in range(1, n + 1)
    ]  # fmt: skip
    coder = [
        {"step": i, "pass@1/triton": climb(0.2, 0.6, i, n), "fast_1@1/triton": climb(0.05, 0.3, i, n)} | seconds
        for i in range(1, n + 1)
    ]
    for r in range(1, rounds + 1):
        write(f"proposer_rl.r{r}", proposer)
        write(f"coder_rl.r{r}", coder)


def _stamps(run: Run) -> None:
    for number, stage in enumerate(stages(1)):
        start, end = f"2026-11-30T0{number}:00:00+00:00", f"2026-11-30T0{number}:0{1 + number}:30+00:00"
        facts = {"stage": stage.name, "started": start, "ended": end, "key": "synthetic"}
        run.write_json(f"stages/{stage.name}/stamp.json", facts)
        finish = {"stage": stage.name, "outcome": "done", "reason": "", "time": end, "environment": environment()}
        run.write_json(f"stages/{stage.name}/finish.json", finish)


def _figures(run: Run, attempts) -> None:
    run = dataclasses.replace(run, stage="06_figures")
    strict = [a for a in attempts if a.protocol == "strict"]
    for stem, kind, frame in (
        ("figure3_training", "training", frames.training_frame([run])),
        ("figure5_fast_p", "fast_p", frames.fast_p_frame(strict, [1, 4], [0.5, 1.0, 1.5, 2.0], draws=100)),
        ("outcomes", "outcomes", frames.outcome_frame(attempts)),
        ("pipeline", "pipeline", frames.pipeline_frame(run)),
    ):
        figures.save(run, stem, kind, frame, caption=f"SYNTHETIC {stem}, n = {len(frame)} rows, 1 seed.", dpi=100)
    rows = scores.score(attempts, [1, 4], [1.0], draws=100)
    scores.write_table(run, "evaluation", rows, "SYNTHETIC scores.")


def _notebook(run: Run) -> None:
    png = next((run.root / "figures").glob("*.png")).read_bytes()
    picture = nbformat.v4.new_output(
        "display_data", {"image/png": base64.b64encode(png).decode(), "text/plain": "<Figure>"},
        metadata={"image/png": {"alt": "A synthetic chart"}},
    )  # fmt: skip
    stream = nbformat.v4.new_output(
        "stream", name="stdout", text="SYNTHETIC \x1b[31mred\x1b[0m " + "wide " * 200 + "\n"
    )
    table = nbformat.v4.new_output(
        "execute_result",
        {"text/html": "<table><tr>" + "<td>a wide cell</td>" * 40 + "</tr></table>", "text/plain": "t"},
    )
    text = (
        "# A synthetic notebook\n\n$$r_i = c_i\\,(1 + T(G)\\,\\beta\\,S_i)$$\n\n"
        "Inline $T(G)=1 \\text{ if } \\bar c \\ge \\alpha$."
        "\n\n| "
        + " | ".join(f"column {i}" for i in range(20))
        + " |\n|"
        + "---|" * 20
        + "\n| "
        + " | ".join("x" * 9 for _ in range(20))
        + " |"
    )
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell(text),
            nbformat.v4.new_code_cell("x = 1  # " + "long " * 60, execution_count=1, outputs=[stream, table, picture]),
        ]
    )
    for stage in ("01_data_sampling", "05_evaluation"):
        run.path(f"notebooks/{stage}.ipynb").write_text(nbformat.writes(notebook))
