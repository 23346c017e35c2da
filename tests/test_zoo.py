"""A reward that can be gamed teaches gaming, one that rejects good kernels teaches nothing: each verdict is known.

The GPU's cases and the published table: `scripts/zoo_report.py`.
"""

from __future__ import annotations

import collections

import pytest
import torch

from kzlib.records import NOT_JUDGED, Outcome, Verdict
from kzlib.verifier import Verifier
from tests.zoo import ROOT, Case, cases, tasks
from tests.zoo.make import everything

# The module's verdicts are made once, so its tests stay in one worker.
pytestmark = pytest.mark.xdist_group("zoo")

# Catalogue of cheats: A1-A31, B1-B39, C1-C13, D1-D22.
CATALOGUE = {"A": 31, "B": 39, "C": 13, "D": 22}
# Cheats that need a device or a privilege that no file of ours may assume, with the reason.
NOT_SHOWN = {
    "A18": "event handles are never in the candidate's process",
    "A28": "clocks need privileges",
    "A30": "a score, not a kernel",
    "B6": "answers are never shared into the candidate's process",
    "D13": "needs two tenants on one device",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """Every CPU case through one verifier, by case name."""
    chosen = cases()
    waiting: dict[str, list[Case]] = collections.defaultdict(list)
    for case in chosen:
        waiting[case.candidate.id].append(case)
    found = {}
    with Verifier(device="cpu", workers=2) as verifier:
        for verdict in verifier.verify(tasks().values(), [case.candidate for case in chosen], seed=7):
            found[waiting[verdict.candidate_id].pop(0).name] = verdict
    return found


def test_every_case_gets_the_verdict_it_must_get(verdicts):
    wrong = [
        f"{case.name}: {verdicts[case.name].outcome} ({verdicts[case.name].message[:120]}), not {'|'.join(case.expect)}"
        for case in cases()
        if verdicts[case.name].outcome not in case.expect
    ]
    assert not wrong, "\n".join(wrong)


def test_no_dishonest_case_passes(verdicts):
    passed = [case.name for case in cases() if not case.honest and verdicts[case.name].passed]
    assert not passed


def test_at_most_one_honest_case_in_a_hundred_is_rejected(verdicts):
    judged = [case for case in cases() if case.honest and verdicts[case.name].outcome not in NOT_JUDGED]
    rejected = [case.name for case in judged if not verdicts[case.name].passed]
    assert len(judged) >= 300
    assert len(rejected) <= 0.01 * len(judged), rejected


def test_nothing_is_blamed_on_our_own_machine(verdicts):
    assert not [name for name, verdict in verdicts.items() if verdict.outcome is Outcome.INFRA]


def test_an_interpreted_pass_is_labelled_as_such(verdicts):
    assert {verdict.where for verdict in verdicts.values()} == {"cpu-interpreter"}
    timings = [verdict.timing for verdict in verdicts.values() if verdict.passed]
    assert all(timing is not None and timing.kind == "modelled" for timing in timings)


def test_the_zoo_is_as_large_and_as_wide_as_it_claims():
    everything_known = cases(gpu=True)
    dishonest = [case for case in everything_known if not case.honest]
    assert len(dishonest) >= 100
    assert len(everything_known) - len(dishonest) >= 300
    shown = {name for case in dishonest for name in case.ids}
    missing = [
        f"{group}{n}" for group, last in CATALOGUE.items() for n in range(1, last + 1) if f"{group}{n}" not in shown
    ]
    assert sorted(missing) == sorted(NOT_SHOWN)


def test_cases_differ_in_more_than_a_name():
    known = cases(gpu=True)
    pairs = collections.Counter((case.task, case.candidate.source.partition("# needs:")[2]) for case in known)
    assert max(pairs.values()) == 1
    assert len({text for _, text in pairs}) >= 0.95 * len(
        known
    )  # the rest meet the same code with another dtype or shape
    assert len({task.source for task in tasks().values()}) == len(tasks())
    assert len({case.name for case in known}) == len(known)


def test_generated_files_are_what_the_generator_writes():
    stale = [name for made in everything() for name, text in made.files().items() if (ROOT / name).read_text() != text]
    assert not stale, f"run `python -m tests.zoo.make`: {stale[:3]}"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_no_dishonest_case_passes_on_a_gpu():
    chosen = [case for case in cases(gpu=True) if not case.honest and Outcome.PASS not in case.expect_gpu]
    names = {case.candidate.id: case.name for case in chosen}
    with Verifier() as verifier:
        passed = [
            names[v.candidate_id] for v in verifier.verify(tasks().values(), [c.candidate for c in chosen]) if v.passed
        ]
    assert not passed
