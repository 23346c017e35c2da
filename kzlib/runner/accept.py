"""When an executed notebook counts as done. Papermill's own word is not enough: after a dead kernel, a timeout or
`sys.exit(0)` its output file says "completed" (measured for papermill 2.7; issue 2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kzlib.runner.notebooks import code_cells, text_of
from kzlib.stages import Stage


def problems(executed: dict[str, Any], stage: Stage, root: Path, run_id: str) -> Iterator[str]:
    """Why an execution that papermill let pass is not accepted, most telling first; nothing if it is."""
    yield from notebook_problems(executed)
    yield from finish_problems(root / "stages" / stage.name / "finish.json", run_id)
    for output in stage.outputs:
        problem = artefact_problem(root / output)
        if problem:
            yield f"its output {output} {problem}"


def notebook_problems(executed: dict[str, Any]) -> Iterator[str]:
    """What the executed copy itself shows: error outputs, cells that did not run, a run out of order."""
    for number, cell in enumerate(executed["cells"]):
        for output in cell.get("outputs", []):
            if output.get("output_type") == "error":
                first = " ".join(str(output.get("evalue", "")).split("\n", 1)[0].split())
                yield f"cell {number} ended with {output.get('ename')}{': ' + first if first else ''}"
    if executed.get("metadata", {}).get("papermill", {}).get("exception"):
        yield "papermill recorded an exception"
    counts = [cell.get("execution_count") for cell in code_cells(executed)]
    if None in counts:
        cell = code_cells(executed)[counts.index(None)]
        first = text_of(cell).strip().splitlines()[0]
        yield f"{counts.count(None)} cells did not run, from the one that begins {first!r}"
    elif counts != list(range(1, len(counts) + 1)):
        yield "the cells did not run once each and in order"


def finish_problems(path: Path, run_id: str) -> Iterator[str]:
    """Whether this very execution wrote the finish record."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        yield "its last cell did not call run.finish()"
        return
    if record.get("run_id") != run_id:
        yield "its last cell did not call run.finish() in this execution"
    elif record.get("outcome") != "done" and not record.get("reason"):
        yield f"it finished as {record.get('outcome')!r} without a reason"


def artefact_problem(path: Path) -> str | None:
    """Why a promised file or folder is unusable: "is missing", "is not JSON: ...". None when it is sound.

    >>> artefact_problem(Path("/nonexistent.json"))
    'is missing'
    """
    if path.is_dir():
        files = [p for p in path.rglob("*") if p.is_file()]
        if not files:
            return "is an empty folder"
        broken = ((p, artefact_problem(p)) for p in files if p.suffix in (".json", ".safetensors"))
        return next((f"holds {p.relative_to(path)}, which {why}" for p, why in broken if why), None)
    if not path.exists():
        return "is missing"
    try:
        return _CHECKS.get(path.suffix, _nothing)(path)
    except (UnicodeDecodeError, OSError) as error:
        return f"cannot be read ({error})"


def _json(path: Path) -> str | None:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        return f"is not JSON ({error.msg}, line {error.lineno})"
    return None


def _jsonl(path: Path) -> str | None:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                json.loads(line)
            except json.JSONDecodeError as error:
                return f"has a broken line {number} ({error.msg})"
    return None


def _safetensors(path: Path) -> str | None:
    total = path.stat().st_size
    with path.open("rb") as file:
        header = int.from_bytes(file.read(8), "little")
        if total < 8 or header > total - 8:
            return "is cut short"
        try:
            tensors = json.loads(file.read(header))
        except (json.JSONDecodeError, UnicodeDecodeError):
            return "has a broken header"
    ends = [entry["data_offsets"][1] for name, entry in tensors.items() if name != "__metadata__"]
    return None if 8 + header + max(ends, default=0) == total else "is cut short"


def _starts(magic: bytes) -> Any:
    def check(path: Path) -> str | None:
        with path.open("rb") as file:
            return None if file.read(len(magic)) == magic else f"is no {path.suffix[1:].upper()} file"

    return check


def _nothing(path: Path) -> str | None:
    return None if path.stat().st_size else "is empty"


_CHECKS: dict[str, Any] = {
    ".json": _json,
    ".jsonl": _jsonl,
    ".safetensors": _safetensors,
    ".pdf": _starts(b"%PDF"),
    ".png": _starts(b"\x89PNG"),
}
