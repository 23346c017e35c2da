"""The stages of a run, in order, in one place: which notebook, which settings, what it reads and what it makes.

Proposer and Coder take turns: notebooks 03 and 04 run once a round, each round as a stage of its own
("03_proposer_rl.r2"). Paths are relative to the run's folder.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One execution of one notebook. `inputs` may hold patterns such as "metrics/*.json"; `outputs` are exact."""

    name: str
    notebook: str
    sections: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    round_number: int = 0  # 0 for a stage that runs once
    timed: bool = False  # its numbers depend on the device, so another device makes it stale


SETUP = Stage("00_setup_check", "00_setup_check", ("run",), (), ("setup.json",))

SAMPLING = Stage("01_data_sampling", "01_data_sampling", ("run", "sampling"), (), ("api_sets.jsonl",))

COLD_START = Stage(
    "02_sft_cold_start",
    "02_sft_cold_start",
    ("run", "sampling", "model", "corpus", "sft", "verifier"),
    ("api_sets.jsonl",),
    (
        "corpus/tasks.jsonl",
        "corpus/answers.jsonl",
        "checkpoints/sft_coder",
        "checkpoints/sft_proposer",
        "metrics/sft_coder.jsonl",
        "metrics/sft_proposer.jsonl",
        "metrics/sft_check.json",
    ),
)


def checkpoint(role: str, r: int) -> str:
    """Where a role's weights after round r are; round 0 is the cold start.

    >>> checkpoint("coder", 0), checkpoint("coder", 2)
    ('checkpoints/sft_coder', 'checkpoints/coder.r2')
    """
    return f"checkpoints/{role}.r{r}" if r else f"checkpoints/sft_{role}"


def proposer(r: int) -> Stage:
    """The Proposer's turn of round r: trained against the Coder of round r - 1, then it writes the Coder's modules."""
    return Stage(
        f"03_proposer_rl.r{r}",
        "03_proposer_rl",
        ("run", "model", "proposer", "verifier"),
        ("api_sets.jsonl", checkpoint("proposer", r - 1), checkpoint("coder", r - 1)),
        (f"checkpoints/proposer.r{r}", f"metrics/proposer_rl.r{r}.jsonl", f"records/tasks.03_proposer_rl.r{r}.jsonl"),
        round_number=r,
    )


def coder(r: int) -> Stage:
    """The Coder's turn of round r, on the modules that the Proposer has just written."""
    return Stage(
        f"04_coder_rl.r{r}",
        "04_coder_rl",
        ("run", "model", "coder", "verifier"),
        (f"records/tasks.03_proposer_rl.r{r}.jsonl", checkpoint("coder", r - 1)),
        (f"checkpoints/coder.r{r}", f"metrics/coder_rl.r{r}.jsonl"),
        round_number=r,
        timed=True,
    )


def evaluation(rounds: int) -> Stage:
    """pass@k and fast_p@k of the cold start and of every round's Coder; the first and the last Proposer."""
    proposers = (checkpoint("proposer", r) for r in (0, rounds))
    return Stage(
        "05_evaluation",
        "05_evaluation",
        ("run", "model", "proposer", "evaluation", "verifier"),
        ("api_sets.jsonl", *(checkpoint("coder", r) for r in range(rounds + 1)), *proposers),
        (
            "records/answers.05_evaluation.jsonl",
            "records/verdicts.05_evaluation.jsonl",
            "metrics/evaluation.json",
            "metrics/proposer_check.json",
        ),
        timed=True,
    )


FIGURES = Stage(
    "06_figures",
    "06_figures",
    ("run", "figures"),
    ("api_sets.jsonl", "metrics/*.json", "metrics/*.jsonl", "records/*.jsonl"),
    # index.html is no output: the runner writes it once more, when this notebook itself can be linked
    ("tasks.jsonl", "answers.jsonl", "verdicts.jsonl"),
)

HACKING = Stage("07_reward_hacking", "07_reward_hacking", ("run",), (), ("reward_hacking.json",), timed=True)


def stages(rounds: int) -> tuple[Stage, ...]:
    """Every stage of a run with that many rounds, in the order they run.

    >>> [stage.name for stage in stages(1)][3:5]
    ['03_proposer_rl.r1', '04_coder_rl.r1']
    """
    turns = [turn(r) for r in range(1, rounds + 1) for turn in (proposer, coder)]
    return (SETUP, SAMPLING, COLD_START, *turns, evaluation(rounds), FIGURES, HACKING)
