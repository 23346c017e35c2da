"""An executed notebook as the static page of the report, in a browser without a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kzlib import notebook_html

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, PHONE = 1280, 390
TALLEST = 12_000  # pixels of a screenshot


def check_page(browser: Browser, source: Path, folder: Path, shots: Path) -> None:
    """The page of a saved notebook reads well, wide and narrow, light and dark: nothing is missing or sticks out."""
    notebook = json.loads(source.read_text(encoding="utf-8"))
    path = folder / f"{source.stem}.html"
    path.write_text(notebook_html.page_of(source), encoding="utf-8")
    for kind, width, scheme in (("wide", WIDE, "light"), ("phone", PHONE, "light"), ("dark", WIDE, "dark")):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        page, broken = context.new_page(), []
        page.on("console", lambda message, broken=broken: broken.append(message.text))
        page.on("requestfailed", lambda request, broken=broken: broken.append(request.url[:80]))
        page.goto(path.as_uri())
        check_reading(page, notebook)
        assert broken == []
        height = int(page.evaluate("() => document.documentElement.scrollHeight"))
        page.set_viewport_size({"width": width, "height": min(height, TALLEST)})
        shots.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(shots / f"{path.stem}.{kind}.png"))
        context.close()


def check_reading(page: Page, notebook: dict[str, Any]) -> None:
    """No sideways scroll of the page, every picture with its words, every view's twin in sight, no raw data."""
    assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert page.evaluate("() => [...document.images].every(i => i.naturalWidth && i.getBoundingClientRect().width)")
    words = page.eval_on_selector_all("img", "all => all.map(i => i.alt)")
    assert all(word and not word.startswith("Picture printed") for word in words), words
    outputs = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    htmls = ["".join(data.get("text/html", "")) for data in outputs]
    twins = page.locator("details[open]")
    assert twins.count() == sum(text.startswith("<details open>") for text in htmls)
    assert all(len(twin.inner_text()) > 100 for twin in twins.all())
    assert page.locator("pre.out", has_text="Box(children=").count() == 0
    assert page.locator("h1").count() == 1
