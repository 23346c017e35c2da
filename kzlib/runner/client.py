"""papermill's client as the suite needs it: all printed text in a log, a bounded part in the notebook, the cell known.

Imported by the child alone (`kzlib.runner.execute`), after it has set its signals up: papermill takes a second to load.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, TextIO

from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine

from kzlib.runner.position import Position

OUTPUT_LIMIT = 60_000  # characters of printed text a cell keeps in the executed copy; the log has all of it
KERNEL_STARTS_WITHIN = 120  # seconds; several kernels starting at once on a small machine are slow


class Client(PapermillNotebookClient):
    """Executes cells; `position` follows the current one."""

    def __init__(self, *args: Any, log: TextIO, position: Position, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log_file, self.position = log, position
        self.printed: dict[int, int] = {}

    async def async_execute_cell(self, cell: Any, cell_index: int, *args: Any, **kwargs: Any) -> Any:
        here = self.position
        here.cell, here.source = cell_index, cell.source
        here.cells_started += 1
        here.kernel_pid = getattr(self.km.provisioner, "pid", None)
        if cell.cell_type == "code" and cell.source.strip():
            print(f"\n--- cell {cell_index} of {len(self.nb.cells) - 1}", file=self.log_file, flush=True)
        return await super().async_execute_cell(cell, cell_index, *args, **kwargs)

    execute_cell = run_sync(async_execute_cell)

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:  # type: ignore[override]
        if msg["msg_type"] == "stream":
            text = msg["content"]["text"]
            self.log_file.write(text)
            self.log_file.flush()
            before = self.printed.get(cell_index, 0)
            self.printed[cell_index] = before + len(text)
            if before >= OUTPUT_LIMIT:
                return None
            if before + len(text) > OUTPUT_LIMIT:
                kept = text[: OUTPUT_LIMIT - before].rpartition("\n")[0]
                name = Path(self.log_file.name).name
                msg["content"]["text"] = f"{kept}\n[the rest of this output is in logs/{name}]\n"
        return super().process_message(msg, cell, cell_index)


class Engine(NBClientEngine):
    """papermill's engine with `Client`; `log` and `position` come as engine arguments."""

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, log: TextIO, position: Position, **_: Any
    ) -> Any:  # fmt: skip
        manager = AsyncKernelManager(kernel_name=kernel_name)
        if len(tempfile.gettempdir()) < 60:  # a socket's path is at most 107 characters
            manager.transport = "ipc"  # no port to clash over (nteract/papermill#511)
        manager.connection_file = str(Path(os.environ["JUPYTER_RUNTIME_DIR"]) / "kernel.json")
        client = Client(
            nb_man, km=manager, startup_timeout=KERNEL_STARTS_WITHIN, kernel_name=kernel_name, iopub_timeout=60,
            log=log, position=position,
        )  # fmt: skip
        return client.execute()
