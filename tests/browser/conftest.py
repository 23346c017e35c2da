"""A browser and a JupyterLab for the tests of this folder, each started once."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from browser.lab import Server

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(Path(__file__).parent)]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright_api = pytest.importorskip("playwright.sync_api", reason="no playwright: make browser-test installs it")
    from browser.lab import find_chromium

    with playwright_api.sync_playwright() as playwright:
        program = find_chromium(playwright)
        if program is None:
            pytest.skip("no Chromium here: type `python -m playwright install chromium` or `apt install chromium`")
        try:
            chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] * (os.geteuid() == 0))
        except playwright_api.Error as error:  # most often a system library that Chromium needs
            pytest.skip(f"Chromium does not start: python -m playwright install-deps chromium ({error.message[:200]})")
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Lab over copies of the notebooks with the values of the profile smoke; results go to a folder of their own.

    KZ_BROWSER_RUN may name the folder of a finished smoke run: then any notebook can be run alone.
    """
    pytest.importorskip("playwright", reason="no playwright: make browser-test installs it")
    from notebook_copies import write_copies

    from browser.lab import serving

    folder = tmp_path_factory.mktemp("lab")
    write_copies(folder / "notebooks", "smoke")
    outputs = tmp_path_factory.mktemp("outputs")
    if finished := os.environ.get("KZ_BROWSER_RUN"):
        shutil.copytree(finished, outputs / "smoke" / Path(finished).name)
    with serving(folder, outputs, tmp_path_factory.mktemp("jupyter")) as running:
        yield running
