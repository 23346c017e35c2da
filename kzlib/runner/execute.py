"""The child process that executes one notebook through papermill: `python -m kzlib.runner.execute` with a JSON spec.

It reports on a pipe of its own how papermill ended; whether that counts as success is the parent's decision
(`kzlib.runner.accept`), because papermill calls several failures a success (nteract/papermill#125, #435, #518).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from kzlib.runner import processes

OUTPUT_LIMIT = 60_000  # characters of printed text a cell keeps in the executed copy; the log has all of it
KERNEL_STARTS_WITHIN = 120  # seconds; several kernels starting at once on a small machine are slow


def main() -> int:
    """Execute the notebook of the spec on standard input; the report is one JSON line on the given descriptor."""
    spec = json.load(sys.stdin)
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, _terminated)
    processes.die_with_parent(signal.SIGTERM, spec["parent"])
    state: dict[str, Any] = {"cell": None, "source": "", "cells_started": 0, "kernel_pid": None}
    signal.signal(signal.SIGINT, lambda *_: _interrupt_kernel(state))
    error: BaseException | None = None
    try:
        _execute(spec, state)
    except (Exception, SystemExit) as caught:  # noqa: BLE001  every way of failing is reported, none is success
        error = caught
    finally:
        processes.end(processes.descendants(os.getpid()))
    report = {
        "ok": error is None,
        "cell": getattr(error, "cell_index", state["cell"]),
        "source": getattr(error, "source", state["source"]),
        "started": state["cells_started"] > 0,
        "error": type(error).__name__ if error else "",
        "ename": getattr(error, "ename", ""),
        "message": str(getattr(error, "evalue", error) if error else ""),
    }
    os.write(spec["report"], json.dumps(report).encode() + b"\n")
    return 0 if error is None else 1


def _execute(spec: dict[str, Any], state: dict[str, Any]) -> None:
    import papermill
    from jupyter_client.manager import AsyncKernelManager
    from papermill.clientwrap import PapermillNotebookClient
    from papermill.engines import NBClientEngine, papermill_engines

    log = Path(spec["log"]).open("a", encoding="utf-8", errors="replace")  # noqa: SIM115  open as long as the process

    class Client(PapermillNotebookClient):
        """Writes all printed text to the log, keeps a bounded part of it in the notebook, knows the current cell."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.printed: dict[int, int] = {}

        async def async_execute_cell(self, cell: Any, cell_index: int, *args: Any, **kwargs: Any) -> Any:
            state["cell"], state["source"] = cell_index, cell.source
            state["cells_started"] += 1
            state["kernel_pid"] = getattr(self.km.provisioner, "pid", None)
            if cell.cell_type == "code" and cell.source.strip():
                print(f"\n--- cell {cell_index} of {len(self.nb.cells) - 1}", file=log, flush=True)
            return await super().async_execute_cell(cell, cell_index, *args, **kwargs)

        execute_cell = _synchronous(async_execute_cell)

        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:  # type: ignore[override]
            if msg["msg_type"] == "stream":
                text = msg["content"]["text"]
                log.write(text)
                log.flush()
                before = self.printed.get(cell_index, 0)
                self.printed[cell_index] = before + len(text)
                if before >= OUTPUT_LIMIT:
                    return None
                if before + len(text) > OUTPUT_LIMIT:
                    kept = text[: OUTPUT_LIMIT - before].rpartition("\n")[0]
                    msg["content"]["text"] = f"{kept}\n[the rest of this output is in logs/{Path(spec['log']).name}]\n"
            return super().process_message(msg, cell, cell_index)

    class Engine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **_: Any) -> Any:
            manager = AsyncKernelManager(kernel_name=kernel_name)
            if len(tempfile.gettempdir()) < 60:  # a socket's path is at most 107 characters
                manager.transport = "ipc"  # no port to clash over (nteract/papermill#511)
            manager.connection_file = str(Path(os.environ["JUPYTER_RUNTIME_DIR"]) / "kernel.json")
            client = Client(
                nb_man, km=manager, startup_timeout=KERNEL_STARTS_WITHIN, kernel_name=kernel_name, iopub_timeout=60
            )
            return client.execute()

    papermill_engines.register("kz", Engine)
    with tempfile.TemporaryDirectory(prefix="kz-") as private:
        os.environ["JUPYTER_RUNTIME_DIR"] = private
        os.environ["IPYTHONDIR"] = private  # a user's start-up files and hooks do not belong into a result
        papermill.execute_notebook(
            _literal(spec["notebook"]),
            _literal(spec["scratch"]),
            parameters=spec["parameters"],
            engine_name="kz",
            kernel_name="python3",
            progress_bar=False,
            cwd=spec["cwd"],
        )


def _synchronous(method: Any) -> Any:
    from jupyter_core.utils import run_sync

    return run_sync(method)


def _literal(path: str) -> str:
    """A path that papermill's own templates leave alone."""
    return path.replace("{", "{{").replace("}", "}}")


def _interrupt_kernel(state: dict[str, Any]) -> None:
    if state["kernel_pid"]:  # the cell then fails with KeyboardInterrupt, and can save a checkpoint first
        processes.send(state["kernel_pid"], signal.SIGINT)


def _terminated(*_: Any) -> NoReturn:
    processes.end(processes.descendants(os.getpid()), grace=1.0)
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
