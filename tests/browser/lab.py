"""A real JupyterLab on loopback with a token, and a notebook in it as a reader sees it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `make test` reads this file where playwright is not installed
    from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright

ROOT = Path(__file__).parents[2]
LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},  # cells out of view stay in the page
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
LEFT_OUT = {"KZ_HEADLESS", "MPLBACKEND", "KZ_RUN_ID", "KZ_STAGE", "KZ_STAGE_KEY"}  # a reader's kernel has none of these
TALLEST = 7_000  # pixels of a screenshot
AROUND = 130  # pixels of Lab's own bars


def find_chromium(playwright: Playwright) -> str | None:
    """Playwright's own Chromium, or one of the system's, or None."""
    own = playwright.chromium.executable_path
    if Path(own).exists():
        return own
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Server:
    """A running JupyterLab."""

    url: str
    token: str
    folder: Path  # what Lab shows; notebooks are copies in it
    outputs: Path

    def lab(self) -> str:
        return f"{self.url}/lab?token={self.token}&reset"


@contextlib.contextmanager
def serving(folder: Path, outputs: Path, scratch: Path) -> Iterator[Server]:
    """JupyterLab over `folder`, with settings, runtime files and results of its own; it ends with the block."""
    for name, values in SETTINGS.items():
        path = scratch / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    environment = {k: v for k, v in os.environ.items() if k not in LEFT_OUT}
    environment |= {
        "KZ_OUTPUT_ROOT": str(outputs),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "JUPYTERLAB_SETTINGS_DIR": str(scratch / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(scratch / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
        "IPYTHONDIR": str(scratch / "ipython"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}", f"--IdentityProvider.token={token}"]
    command += ["--LabApp.expose_app_in_browser=True"]
    if os.geteuid() == 0:
        command.append("--allow-root")
    with (scratch / "server.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            server = Server(f"http://127.0.0.1:{port}", token, folder, outputs)
            _wait_for(server, process, scratch / "server.log")
            yield server
        finally:
            process.terminate()  # the server ends its kernels
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{server.url}/api?token={server.token}", timeout=5).read()
            return
        time.sleep(0.3)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@dataclass
class Notebook:
    """A notebook open in Lab. `complaints`: what the page's console said in red since it was opened."""

    page: Page
    path: str
    complaints: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, browser: Browser, server: Server, path: str, width: int = 1280) -> Notebook:
        page = browser.new_context(viewport={"width": width, "height": 1000}).new_page()
        notebook = cls(page, path)
        page.on("console", notebook._hear)
        page.on("pageerror", lambda error: notebook.complaints.append(str(error)))
        page.goto(server.lab())
        page.wait_for_function("() => window.jupyterapp?.shell && window.jupyterapp.restored", timeout=90_000)
        page.evaluate("async () => { await jupyterapp.restored; jupyterapp.shell.collapseLeft(); }")
        page.evaluate("path => jupyterapp.commands.execute('docmanager:open', {path, factory: 'Notebook'})", path)
        page.wait_for_function(
            "() => jupyterapp.shell.currentWidget?.content?.model?.cells?.length > 0", timeout=60_000
        )
        page.wait_for_function(
            "() => jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'", timeout=90_000
        )
        page.wait_for_selector(".jp-RenderedMarkdown h1", timeout=60_000)
        return notebook

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def run_all(self, minutes: float) -> None:
        """The menu's Run All Cells, by mouse; returns when the last cell is done or one has stopped with an error."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(
            """() => {
                const cells = jupyterapp.shell.currentWidget.content.model.sharedModel.cells;
                const code = cells.filter(c => c.cell_type === 'code' && c.getSource().trim());
                const failed = code.some(c => c.outputs.some(o => o.output_type === 'error'));
                const idle = jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle';
                return failed || (idle && code.every(c => c.execution_count));
            }""",
            timeout=minutes * 60_000,
            polling=500,
        )

    def json(self) -> dict[str, Any]:
        """The notebook with its outputs, as Lab would save it."""
        return self.page.evaluate("() => jupyterapp.shell.currentWidget.content.model.toJSON()")

    def headings(self) -> list[str]:
        """Headings as they are shown, without the anchor signs."""
        found = self.page.eval_on_selector_all(
            ".jp-RenderedMarkdown :is(h1, h2, h3)",
            "all => all.map(h => { const c = h.cloneNode(true);"
            " c.querySelectorAll('.jp-InternalAnchorLink').forEach(a => a.remove()); return c.textContent.trim(); })",
        )
        return [" ".join(text.split()) for text in found]

    def blank_pictures(self) -> list[str]:
        """Pictures in outputs that show nothing."""
        return self.page.eval_on_selector_all(
            ".jp-OutputArea img", "all => all.filter(i => !i.naturalWidth).map(i => i.src.slice(0, 80))"
        )

    def wordless_pictures(self) -> int:
        """How many pictures in outputs have no alt text."""
        return self.page.locator(".jp-OutputArea img:not([alt]), .jp-OutputArea img[alt='']").count()

    def theme(self, name: str) -> None:
        """Change Lab's colours, as Settings > Theme does."""
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        light = "true" if name == LIGHT else "false"
        self.page.wait_for_selector(f"body[data-jp-theme-light={light}]", state="attached", timeout=30_000)
        self.page.wait_for_timeout(300)

    def screenshot(self, path: Path) -> None:
        """The whole notebook: name.png, and name.2.png and so on where it is taller than `TALLEST`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        size = self.page.viewport_size or {"width": 1280, "height": 1000}
        height = self._scroll_to(0)
        visible = min(height, TALLEST)
        self.page.set_viewport_size({"width": size["width"], "height": visible + AROUND})
        for number in range(-(-height // visible)):
            self._scroll_to(number * visible)
            self.page.wait_for_timeout(500)
            self.page.screenshot(path=str(path.with_suffix(f".{number + 1}.png" if number else ".png")))
        self.page.set_viewport_size(size)  # type: ignore[arg-type]

    def _scroll_to(self, top: int) -> int:
        """Scroll the notebook; its height in pixels is returned."""
        return int(
            self.page.evaluate(
                "top => { const n = jupyterapp.shell.currentWidget.content.node;"
                " for (const e of [n, ...n.querySelectorAll('.jp-WindowedPanel-outer')]) e.scrollTop = top;"
                " const cells = [...n.querySelectorAll('.jp-Cell')].map(c => c.getBoundingClientRect());"
                " return cells.at(-1).bottom - cells[0].top + 20; }",
                top,
            )
        )

    def save(self) -> None:
        """Save, as Ctrl+S does, with outputs and the state of the widgets."""
        self.page.evaluate("async () => { await jupyterapp.shell.currentWidget.context.save(); }")

    def close(self) -> None:
        """End the kernel without keeping the outputs."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget?.sessionContext.shutdown()")
        self.page.context.close()
