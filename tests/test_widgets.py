"""The four views: what is seen without a front end is what controls begin with; each control does what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import IPython.display
import pytest

from kzlib import ca_grpo, zoo
from kzlib.ca_grpo import as_groups
from kzlib.records import Answer, Outcome, Task, Verdict, to_json
from kzlib.simulation import simulate
from kzlib.widgets import playground
from kzlib.widgets.bench import EDITED, KernelBench, lines_named
from kzlib.widgets.frontier_map import FrontierMap, Round
from kzlib.widgets.groups import GroupExplorer, side_by_side
from kzlib.widgets.playground import Playground, Settings, scores
from kzlib.widgets.view import View
from kzlib.widgets.view import source as code

pytestmark = pytest.mark.xdist_group("widgets")
MODULE = "class Model: ...  # the module"


def rollout(task: Task, step: int, text: str, outcome: Outcome, reward: float | None, A: float) -> dict[str, Any]:
    answer = Answer(task.id, 0, "triton", text, 3, "stop")
    verdict = Verdict(
        task.id, "c", "triton", outcome, "done", "cpu-interpreter", "strict", f"{outcome.value} <b>", {}, None, {}, 0
    )
    row = {"step": step, "outcome": outcome.value, "speedup": 1.5, "reward": reward, "advantage": A}
    return {**row, "answer": to_json(answer), "verdict": to_json(verdict)}


@pytest.fixture(scope="module")
def explorer() -> GroupExplorer:
    one, two = Task(MODULE), Task(MODULE + " two")
    rows = [
        rollout(one, 1, "same\nline", Outcome.WRONG, 0.0, 0.0),
        rollout(one, 1, "same\nline", Outcome.WRONG, 0.0, 0.0),
        rollout(two, 2, "y = 1\nz = 3", Outcome.WRONG, 0.0, -1.0),
        rollout(two, 2, "not judged", Outcome.INFRA, None, 0.0),
        rollout(two, 2, "y = 2\nz = 3", Outcome.PASS, 1.1, 1.0),
    ]
    return GroupExplorer(rows, {one.id: one, two.id: two})


@pytest.fixture(scope="module")
def frontier_map() -> FrontierMap:
    played = simulate("frontier", seed=0, rounds=3, sets=20)
    return FrontierMap([Round(*one) for one in zip(played.sets, played.weakness, strict=True)])


@pytest.fixture(scope="module")
def bench() -> Iterator[KernelBench]:
    bench = KernelBench("softmax_without_max", device="cpu", seed=3)
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def views(explorer: GroupExplorer, frontier_map: FrontierMap, bench: KernelBench) -> list[View[Any]]:
    return [Playground(), explorer, frontier_map, bench]


def control(view: View[Any], description: str) -> Any:
    """The control of a view's panel with that description."""
    [found] = [c for c in view.panel().children if getattr(c, "description", "") == description]
    return found


def shown(view: View[Any], monkeypatch: pytest.MonkeyPatch, headless: bool) -> list[Any]:
    """What `show` displays, in its order."""
    displayed: list[Any] = []
    monkeypatch.setenv("KZ_HEADLESS", "1" if headless else "0")
    monkeypatch.setattr(IPython.display, "display", displayed.append)
    view.show()
    return displayed


def test_every_view_is_whole_without_a_front_end(views: list[View[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    for view in views:
        [output] = shown(view, monkeypatch, headless=True)
        page = output.data
        assert view.twin in page
        assert view.title in page
        assert not re.search(r"<script|https?://|src=\"(?!data:image/png)", page), "it needs a script or the network"
        assert all("alt=" in image for image in re.findall(r"<img[^>]*>", page))


def test_the_live_part_begins_with_the_twin_and_comes_after_it(
    views: list[View[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for view in views:
        static, live = shown(view, monkeypatch, headless=False)
        assert view.twin in static.data
        assert live is view.panel()
        assert live.children[-1].value == view.twin


def test_every_control_is_native_and_says_what_it_is(views: list[View[Any]]) -> None:
    native = {"Dropdown", "IntSlider", "FloatSlider", "Textarea", "Button"}  # all of them answer to the keyboard
    for view in views:
        controls = view.panel().children[:-1]
        assert controls
        assert {type(c).__name__ for c in controls} <= native
        assert all(c.description for c in controls)


def test_the_playground_asks_the_functions_that_the_trainer_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    real = ca_grpo.reward_parts
    monkeypatch.setattr(ca_grpo, "reward_parts", lambda *a: asked.append(a) or real(*a))
    found = scores(Settings(alpha=0.5, beta=0.2, group=4, right=2, fastest=3.0))
    [(c, S, objective)] = asked
    assert (objective.alpha, objective.beta) == (0.5, 0.2)
    r = ca_grpo.reward(c, S, objective=objective)
    assert [a + b for a, b in zip(found.correct, found.bonus, strict=True)] == r[0].tolist()
    assert found.advantage == ca_grpo.advantages(r)[0].tolist()
    trainer = ca_grpo.CAGRPOTrainer.combine.__code__.co_names
    assert "reward_parts" in trainer


def test_a_slider_of_the_playground_changes_the_picture() -> None:
    view = Playground(alpha=0.5, beta=0.1, group=8)
    live = view.panel().children[-1]
    control(view, "α (gate)").value = 0.9
    assert view.state.alpha == 0.9
    assert "the gate is shut" in live.value
    assert "the gate is open" in view.twin, "the twin stays as it was"
    control(view, "β (speed)").value = 1.0
    control(view, "advantage").value = "mean_only"
    assert (view.state.beta, view.state.normalisation) == (1.0, "mean_only")
    assert live.value == view.picture(view.state)


@pytest.mark.parametrize("size", [2, 16])
def test_a_smaller_group_takes_its_right_answers_along(size: int) -> None:
    view = Playground(group=8)
    control(view, "right answers").value = 8
    control(view, "group size G").value = size
    assert (view.state.group, view.state.right) == (size, min(8, size))
    assert control(view, "right answers").max == size
    c, S = view.state.answers()
    assert as_groups(c, size).shape == as_groups(S, size).shape == (1, size)


@pytest.mark.parametrize("right", [0, 1, 2, 5])
def test_any_number_of_right_answers_can_be_shown(right: int) -> None:
    settings = Settings(group=5, right=right)
    assert f"{right} of 5 right" in Playground().picture(settings)
    assert playground.scores(settings).correct == [1.0] * right + [0.0] * (5 - right)


def test_the_explorer_begins_with_the_widest_group_and_its_extremes(explorer: GroupExplorer) -> None:
    assert (explorer.state.group, explorer.state.left, explorer.state.right) == (1, 2, 0)
    assert "− y = 2" in explorer.twin
    assert "+ y = 1" in explorer.twin
    assert "&lt;b&gt;" in explorer.twin, "a verdict's text is shown, not obeyed"
    assert "– " not in explorer.twin.split("infra")[0]


def test_another_group_brings_its_own_answers(explorer: GroupExplorer) -> None:
    live = explorer.panel().children[-1]
    control(explorer, "group").value = 0
    assert "same text" in live.value
    assert len(control(explorer, "left answer").options) == 2
    control(explorer, "group").value = 1
    control(explorer, "right answer").value = 1
    assert "not judged" in live.value
    assert live.value == explorer.picture(explorer.state)


def test_no_rollouts_is_a_sentence_and_no_error() -> None:
    view = GroupExplorer([], {})
    assert "no step was trained" in view.twin
    assert view.panel().children[-1].value == view.twin


def test_texts_of_unequal_length_are_aligned() -> None:
    shown = side_by_side("a\nb\nc", "a\nc", "left", "right")
    assert "− b" in shown
    assert "+ " not in shown
    assert side_by_side("", "", "l", "r").count("empty") == 1


def test_the_map_shows_the_estimate_of_the_round_it_names(frontier_map: FrontierMap) -> None:
    control(frontier_map, "round").value = 1
    live = frontier_map.panel().children[-1]
    assert "Round 1 of 3" in live.value
    assert "Round 3 of 3" in frontier_map.twin
    nodes, edges = frontier_map.frames(1)
    first = frontier_map.rounds[0]
    for row in nodes.head(5).itertuples(index=False):
        assert row.skill == first.weakness.skill(row.node).mean
    assert set(nodes[nodes["asked"]]["node"]) == {name for names in first.sets for name in names}
    assert set(edges["rate"]) <= {first.weakness.rate(names) for names in first.sets}
    assert list(frontier_map.frames(2)[0]["x"]) == list(nodes["x"]), "an API moves between rounds"


def test_a_map_of_nothing_says_what_to_give() -> None:
    with pytest.raises(ValueError, match=r"give \[Round"):
        FrontierMap([])


def test_the_bench_begins_judged_and_follows_the_lists(bench: KernelBench) -> None:
    assert bench.state.verdict is not None
    assert "Verdict: wrong" in bench.twin
    live = bench.panel().children[-1]
    control(bench, "kernel").value = "honest/triton/softmax_block"
    assert "Not judged: press Judge" in live.value
    control(bench, "Judge").click()
    assert "Verdict: pass" in live.value
    assert "modelled" in live.value
    control(bench, "task").value = "ew_relu"
    assert bench.state.task == "ew_relu"
    assert bench.state.source == zoo.case(bench.state.case).candidate.source


def test_an_edited_kernel_is_judged_and_its_own_line_is_marked(bench: KernelBench) -> None:
    control(bench, "task").value = "softmax_block"
    control(bench, "kernel").value = "honest/triton/softmax_block"
    good = bench.state.source
    place = next(n for n, line in enumerate(good.split("\n"), 1) if "tl.exp(" in line)
    control(bench, "source").value = good.replace("tl.exp(", "tl.no_such_function(")
    assert bench.state.case == EDITED
    control(bench, "Judge").click()
    assert bench.state.verdict is not None
    assert bench.state.verdict.outcome is Outcome.COMPILE_FAIL
    assert place in lines_named(bench.state.verdict.message)
    assert f"▸{place}" in bench.panel().children[-1].value


def test_the_bench_shows_what_the_published_protocol_would_say(bench: KernelBench) -> None:
    control(bench, "task").value = "softmax_block"
    control(bench, "kernel").value = "dishonest/triton/softmax_without_max"
    control(bench, "protocol").value = "keck"
    assert bench.state.verdict is None, "an old verdict beside a new protocol"
    control(bench, "Judge").click()
    assert bench.state.verdict is not None
    assert bench.state.verdict.passed
    control(bench, "protocol").value = "strict"


def test_a_closed_bench_starts_its_processes_again(bench: KernelBench) -> None:
    bench.close()
    control(bench, "kernel").value = "honest/triton/softmax_block"
    control(bench, "Judge").click()
    assert "Verdict: pass" in bench.panel().children[-1].value


def test_line_numbers_are_those_of_the_text() -> None:
    assert "▸2  b" in code("a\nb", marked={2})
    assert lines_named("x.cu(12): error: expected a ';'") == {12}
