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
from kzlib.runner.position import Position


def main() -> int:
    """Execute the notebook of the spec on standard input; the report is one JSON line on the given descriptor."""
    spec = json.load(sys.stdin)
    processes.adopt_orphans()
    signal.signal(signal.SIGTERM, _terminated)
    processes.die_with_parent(signal.SIGTERM, spec["parent"])
    position = Position()
    signal.signal(signal.SIGINT, lambda *_: _interrupt_kernel(position))
    error: BaseException | None = None
    try:
        _execute(spec, position)
    except (Exception, SystemExit) as caught:  # noqa: BLE001  every way of failing is reported, none is success
        error = caught
    finally:
        processes.end(processes.descendants(os.getpid()))
    report = {
        "ok": error is None,
        "cell": getattr(error, "cell_index", position.cell),
        "source": getattr(error, "source", position.source),
        "started": position.cells_started > 0,
        "error": type(error).__name__ if error else "",
        "ename": getattr(error, "ename", ""),
        "message": str(getattr(error, "evalue", error) if error else ""),
    }
    os.write(spec["report"], json.dumps(report).encode() + b"\n")
    return 0 if error is None else 1


def _execute(spec: dict[str, Any], position: Position) -> None:
    import papermill
    from papermill.engines import papermill_engines

    from kzlib.runner.client import Engine

    papermill_engines.register("kz", Engine)
    with (
        Path(spec["log"]).open("a", encoding="utf-8", errors="replace") as log,
        tempfile.TemporaryDirectory(prefix="kz-") as private,
    ):
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
            log=log,
            position=position,
        )


def _literal(path: str) -> str:
    """A path that papermill's own templates leave alone."""
    return path.replace("{", "{{").replace("}", "}}")


def _interrupt_kernel(position: Position) -> None:
    if position.kernel_pid:  # the cell then fails with KeyboardInterrupt, and can save a checkpoint first
        processes.send(position.kernel_pid, signal.SIGINT)


def _terminated(*_: Any) -> NoReturn:
    processes.end(processes.descendants(os.getpid()), grace=1.0)
    os._exit(143)


if __name__ == "__main__":
    sys.exit(main())
