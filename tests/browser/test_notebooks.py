"""The notebooks in a real browser: every one opens, runs to its end by Run All and reads well in both themes.

`make browser-test`. Screenshots for a person to look at: `outputs/browser/`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from browser.lab import DARK, LIGHT, Notebook, Server
from browser.pages import check_page
from kzlib.runner.notebooks import tags_of, text_of

pytest.importorskip("playwright", reason="no playwright: make browser-test installs it")

from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.browser, pytest.mark.timeout(900), pytest.mark.xdist_group("browser")]

PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SCREENSHOTS = ROOT / "outputs" / "browser"
VIEWS = {"01": 1, "04": 2, "07": 1}  # interactive views of a notebook
MINUTES = 12  # a notebook of the smoke profile takes about one on two quiet cores


def check_reading(notebook: Notebook, path: Path) -> None:
    """What a reader would see at once: all headings, formulas set, nothing broken, nothing red in the console."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    prose = "\n\n".join(text_of(cell) for cell in cells if cell["cell_type"] == "markdown")
    written = [re.sub(r"[`*]|\$", "", line.lstrip("#")).strip() for line in re.findall(r"^#+ .*$", prose, re.M)]
    assert [re.sub(r"[`*]|\$", "", h) for h in notebook.headings()] == written
    if "$" in prose:
        notebook.page.wait_for_selector(".jp-RenderedMarkdown mjx-container", timeout=60_000)
    assert notebook.page.locator("mjx-merror, .MathJax_Error").count() == 0
    assert notebook.blank_pictures() == []
    assert notebook.wordless_pictures() == 0
    assert notebook.complaints == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_opens(path: Path, browser: Browser, server: Server) -> None:
    notebook = Notebook.open(browser, server, f"notebooks/{path.name}")
    check_reading(notebook, path)
    notebook.close()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_run_all(path: Path, browser: Browser, server: Server, tmp_path: Path) -> None:
    """In their order: each notebook reads what the ones before it left. Then what ran is read as a static page."""
    notebook = Notebook.open(browser, server, f"notebooks/{path.name}")
    notebook.run_all(MINUTES)
    cells = notebook.json()["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    errors = [o for o in outputs if o["output_type"] == "error"]
    assert not errors, f"{errors[0]['ename']}: {errors[0]['evalue']}"
    for theme, name in ((LIGHT, "light"), (DARK, "dark")):
        notebook.theme(theme)
        check_reading(notebook, path)
        notebook.screenshot(SCREENSHOTS / name / f"{path.stem}.png")
    pictures = [o for o in outputs if "image/png" in o.get("data", {})]
    assert notebook.page.locator(".jp-OutputArea img").count() >= len(pictures)
    if path.stem[:2] in ("01", "02", "03", "04", "06"):
        assert pictures, "this notebook draws"
    said = "".join(o["text"] if isinstance(o["text"], str) else "".join(o["text"]) for o in outputs if "text" in o)
    exercises = [cell for cell in cells if "exercise" in tags_of(cell)]
    assert said.count("not attempted yet: ") == len(exercises)
    assert "Traceback" not in said
    views = notebook.page.locator(".jp-CodeCell:has(details)").all()
    assert len(views) == VIEWS.get(path.stem[:2], 0)
    for view in views:
        twin = view.locator("details").inner_text().split("to get its controls", 1)[1]
        assert twin.split() == view.locator(".widget-html-content").inner_text().split(), "the twin is another state"
    notebook.save()
    check_page(browser, server.folder / notebook.path, tmp_path, SCREENSHOTS / "page")
    notebook.close()


def test_an_exercise_is_solved_by_typing(browser: Browser, server: Server) -> None:
    """A reader replaces the stub by keyboard alone: the checker's sentence changes from open to wrong to right."""
    notebook = Notebook.open(browser, server, "notebooks/03_proposer_rl.ipynb")
    page = notebook.page
    ids = [cell["id"] for cell in notebook.json()["cells"]]
    cell = page.locator(".jp-Notebook .jp-Cell").nth(ids.index("try-reward"))
    for answer, expected in (
        ("...", "not attempted yet: 03.reward"),
        ("1 - p", "not yet (03.reward): an invalid module"),
        ("rho if not valid else 1 - 2 * abs(p - 0.5)", "right (03.reward)"),
    ):
        code = "from kzlib import exercises\ndef my_reward(p, valid, rho): return " + answer
        code += '\nprint(exercises.check("03.reward", my_reward))'
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(code)
        page.keyboard.press("Control+Enter")
        cell.locator(".jp-OutputArea-output", has_text=expected).wait_for(timeout=120_000)
    assert notebook.complaints == []
    notebook.close()
