"""Notebook 07's promises: each cheat really fools its naive metric, is really stopped, and costs are measured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kzlib import exercises, zoo
from kzlib.hacking.cheats import CHEATS, GUARDS, METRICS, Trial, costs, fooled, trials
from kzlib.hacking.naive import NaiveCheck, NaiveReport
from kzlib.records import Outcome
from kzlib.verifier import Verifier

pytestmark = pytest.mark.xdist_group("hacking")


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(device="cpu", workers=1) as verifier:
        yield verifier


@pytest.fixture(scope="module")
def tried(verifier: Verifier) -> dict[str, Trial]:
    with NaiveCheck() as naive:
        return {trial.cheat.case: trial for trial in trials(CHEATS, naive, verifier, seed=11)}


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.case)
def test_each_cheat_fools_its_metric_and_is_stopped(cheat, tried):
    trial = tried[cheat.case]
    assert trial.fooled, trial.naive
    assert trial.strict.outcome in zoo.case(cheat.case).expect
    assert not trial.strict.passed


def test_without_its_guard_the_cheat_passes_or_meets_the_guard_that_the_text_names(tried):
    """Notebook 07 says which cheats are stopped twice; every other one passes when its guard is taken out."""
    without = {name: trial.without.outcome for name, trial in tried.items() if trial.without is not None}
    twice = {"zeros_for_tiny_output", "half_precision_matmul", "memo_by_pointer"}
    assert {name for name, outcome in without.items() if outcome is not Outcome.PASS} == twice
    assert without["memo_by_pointer"] is Outcome.CHEAT, "spoiled stores do not change an answer from a memory"


def test_there_are_a_dozen_and_every_metric_and_guard_is_needed():
    assert len(CHEATS) == 12
    assert {cheat.metric for cheat in CHEATS} == set(METRICS)
    assert {cheat.guard for cheat in CHEATS} == set(GUARDS)
    assert {zoo.case(cheat.case).group for cheat in CHEATS} == set("ABCD")
    assert not any(zoo.case(cheat.case).honest for cheat in CHEATS)


def test_the_naive_check_is_naive_but_no_yes_man(verifier):
    honest, wrong = zoo.case("honest/triton/softmax_block"), zoo.case("only_first_rows")
    with NaiveCheck() as naive:
        report = naive.check(zoo.tasks()[honest.task], honest.candidate)
        assert (report.correct, report.has_kernel, report.exit_code) == (True, True, 0)
        assert report.speedup < 1, "an interpreted kernel that seems faster than PyTorch"
        report = naive.check(zoo.tasks()[wrong.task], wrong.candidate)
        assert (report.correct, report.exit_code) == (False, 1)
        broken = zoo.case("syntax_error")
        assert "SyntaxError" in naive.check(zoo.tasks()[broken.task], broken.candidate).message


def test_a_report_that_is_wrong_fools_nothing_but_an_exit_code():
    assert [m for m in METRICS if fooled(m, NaiveReport(False, True, 9.0, 1))] == []
    assert [m for m in METRICS if fooled(m, NaiveReport(False, True, 9.0, 0))] == ["exit code"]


def test_costs_are_measured_on_a_kernel_that_passes(verifier):
    case = zoo.case("norm_layer_affine_block")
    found = {cost.guard: cost for cost in costs(zoo.tasks()[case.task], case.candidate, verifier, seed=5, n=2)}
    assert set(found) == set(GUARDS)
    for cost in found.values():
        assert cost.low <= cost.seconds <= cost.high < cost.total
        assert cost.n == 2
    assert found["own process"].low > 0
    cheat = zoo.case("norm_without_affine")
    with pytest.raises(RuntimeError, match="choose another"):
        costs(zoo.tasks()[cheat.task], cheat.candidate, verifier, seed=5, n=1)


def test_a_checkout_without_the_zoo_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(zoo, "ROOT", tmp_path / "zoo")
    zoo.tasks.cache_clear()
    with pytest.raises(FileNotFoundError, match="clone the project"):
        zoo.cases()
    monkeypatch.undo()
    zoo.tasks.cache_clear()
    with pytest.raises(ValueError, match="no case called"):
        zoo.case("no_such_kernel")


SOLUTION = (
    zoo.case("honest/triton/softmax_block")
    .candidate.source.replace("class ModelNew(nn.Module):", "class ModelNew(nn.Module):\n    kept = None\n")
    .replace("def forward(self, x):", "def forward(self, x):\n        if self.kept is None:\n"
    "            self.kept = self.work(x)\n        return self.kept\n\n    def work(self, x):")
)  # fmt: skip


def test_the_checker_of_a_readers_cheat_knows_honest_wrong_and_cheat():
    honest = exercises.check("07.cheat", zoo.case("honest/triton/softmax_block").candidate.source)
    assert honest.state == "wrong"
    assert "an honest kernel, or a hole" in honest.sentence
    found = exercises.check("07.cheat", SOLUTION)
    assert found.state == "right", found
    assert "clock" in found.sentence
    assert exercises.check("07.cheat", "class ModelNew:\n    ...").state == "not attempted"


def test_the_checker_of_a_rule_counts_what_gets_through():
    assert exercises.check("07.rule", lambda source: False).state == "wrong"
    assert "honest kernels" in exercises.check("07.rule", lambda source: False).sentence
    assert exercises.check("07.rule", lambda source: ...).state == "not attempted"
