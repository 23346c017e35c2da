"""The four views in a real browser: by mouse, by keyboard, after a kernel's restart, and saved and opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from browser.lab import DARK, LIGHT, Notebook, Server

pytest.importorskip("playwright", reason="no playwright: make browser-test installs it")

from playwright.sync_api import Browser, Locator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600), pytest.mark.xdist_group("browser")]

SCREENSHOTS = Path(__file__).parents[2] / "outputs" / "browser"

PLAYGROUND = """from kzlib.widgets.playground import Playground
Playground().show()"""

GROUPS = """from kzlib.records import Task
from kzlib.widgets.groups import GroupExplorer
tasks = {t.id: t for t in (Task("class Model: first"), Task("class Model: second"))}
rollouts = [
    {"step": 1, "answer": {"task_id": t, "text": f"import triton\\nx = {i}"}, "outcome": o, "speedup": s, "reward": r,
     "advantage": a, "verdict": {"message": m}}
    for t in tasks
    for i, (o, s, r, a, m) in enumerate([("pass", 2.0, 1.2, 1.0, ""), ("wrong", None, 0.0, -1.0, "off by 3")])
]
GroupExplorer(rollouts, tasks).show()"""

MAP = """from kzlib.weakness import Weakness
from kzlib.widgets.frontier_map import FrontierMap, Round
sets = [("torch.exp", "torch.sum"), ("torch.abs", "torch.sum")]
before, after = Weakness(), Weakness()
for _ in range(20):
    after.update(sets[0], passed=False)
    after.update(sets[1], passed=True)
FrontierMap([Round(sets[:1], before), Round(sets, after)]).show()"""

BENCH = """from kzlib.widgets.bench import KernelBench
bench = KernelBench("softmax_without_max", device="cpu", seed=1)
bench.show()"""

VIEWS = {"playground": PLAYGROUND, "groups": GROUPS, "map": MAP, "bench": BENCH}


def write(server: Server) -> str:
    cells = [nbformat.v4.new_markdown_cell("# Views"), *map(nbformat.v4.new_code_cell, VIEWS.values())]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), server.folder / "views.ipynb")
    return "views.ipynb"


@pytest.fixture(scope="module")
def views(browser: Browser, server: Server) -> Iterator[Notebook]:
    notebook = Notebook.open(browser, server, write(server))
    notebook.run_all(5)
    yield notebook
    notebook.close()


def cell(notebook: Notebook, name: str) -> Locator:
    return notebook.page.locator(".jp-Notebook .jp-CodeCell").nth(list(VIEWS).index(name))


def live(notebook: Notebook, name: str) -> Locator:
    """The part that answers to the controls."""
    return cell(notebook, name).locator(".widget-html-content")


def twin(notebook: Notebook, name: str) -> Locator:
    return cell(notebook, name).locator("details")


@pytest.mark.parametrize("name", VIEWS)
def test_the_twin_is_the_start_of_the_live_view(name: str, views: Notebook) -> None:
    shown = twin(views, name).inner_text().split("to get its controls", 1)[1]
    assert shown.split() == live(views, name).inner_text().split()
    assert len(shown) > 100


def slider(notebook: Notebook, name: str, label: str) -> Locator:
    return cell(notebook, name).locator(".widget-slider", has_text=label)


def test_sliders_by_keyboard_and_mouse(views: Notebook) -> None:
    before = twin(views, "playground").inner_html()
    handle = slider(views, "playground", "α").locator("[role=slider]")
    handle.focus()
    handle.press("ArrowRight")
    live(views, "playground").get_by_text("α = 0.55, the gate is shut").wait_for()
    rail = slider(views, "playground", "right answers").locator(".noUi-target")
    box: Any = rail.bounding_box()
    views.page.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    live(views, "playground").get_by_text("8 of 8 right: mean(c) = 1.00").wait_for()
    assert twin(views, "playground").inner_html() == before, "the twin stays as it is"
    assert views.complaints == []


def test_lists_by_keyboard(views: Notebook) -> None:
    """Enter opens a list, an arrow chooses, Enter takes it; on a closed list an arrow is Lab's, and goes to a cell."""
    chosen = cell(views, "groups").locator("select").first
    before = live(views, "groups").inner_text()
    chosen.focus()
    for key in ("Enter", "ArrowDown", "Enter"):
        views.page.keyboard.press(key)
    live(views, "groups").get_by_text("class Model: second").wait_for()
    assert live(views, "groups").inner_text() != before
    right = cell(views, "groups").locator("select").nth(2)
    right.select_option(index=0)
    live(views, "groups").get_by_text("are the same text").wait_for()


def test_rounds_of_the_map(views: Notebook) -> None:
    handle = slider(views, "map", "round").locator("[role=slider]")
    handle.focus()
    handle.press("ArrowLeft")
    live(views, "map").get_by_text("Round 1 of 2").first.wait_for()
    assert live(views, "map").locator("img").get_attribute("alt")


def test_a_kernel_is_edited_and_judged(views: Notebook) -> None:
    """A reader breaks the kernel and sees the message beside the line; Tab leads from the text to the button."""
    text = cell(views, "bench").locator("textarea")
    text.click()
    source = text.input_value()
    text.fill(source + "\nraise ValueError('not yet')\n")
    text.press("Tab")
    live(views, "bench").get_by_text("Not judged: press Judge.").wait_for()
    assert cell(views, "bench").get_by_role("button", name="Judge").evaluate("b => b === document.activeElement")
    views.page.keyboard.press("Enter")
    live(views, "bench").get_by_text("Verdict: compile_fail").or_(
        live(views, "bench").get_by_text("Verdict: runtime_fail")
    ).wait_for(timeout=120_000)
    assert "not yet" in live(views, "bench").inner_text()
    assert views.complaints == []


def test_every_control_is_reached_by_the_tab_key(views: Notebook) -> None:
    """In the order in which the controls stand."""
    box = cell(views, "playground")
    box.locator("[role=slider]").first.focus()
    seen = []
    for _ in range(14):
        seen.append(
            views.page.evaluate(
                "() => { const w = document.activeElement.closest('.widget-inline-hbox');"
                " return w ? w.querySelector('label')?.textContent ?? '' : ''; }"
            )
        )
        views.page.keyboard.press("Tab")
    order = list(dict.fromkeys(label for label in seen if label))
    assert [label.split()[0] for label in order[:7]] == ["α", "β", "group", "right", "fastest", "speed", "advantage"]


def test_after_a_restart_and_saved_and_opened_again(browser: Browser, server: Server, views: Notebook) -> None:
    views.page.evaluate("async () => { await jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }")
    views.page.wait_for_timeout(1000)
    views.run_all(5)
    handle = slider(views, "map", "round").locator("[role=slider]")
    handle.focus()
    handle.press("ArrowLeft")
    live(views, "map").get_by_text("Round 1 of 2").first.wait_for()
    for theme, name in ((LIGHT, "light"), (DARK, "dark")):
        views.theme(theme)
        views.screenshot(SCREENSHOTS / name / "views.png")
    views.save()
    again = Notebook.open(browser, server, "views.ipynb")
    for name in VIEWS:
        assert twin(again, name).inner_text() == twin(views, name).inner_text()
    assert again.page.locator(".jp-OutputArea-output", has_text="Traceback").count() == 0
    again.close()
