"""Where tasks come from: a folder, a JSON-lines file, a benchmark checkout by path, a Hub data set, the held-out set.

Nothing is run here: a task is text, and its `apis` are read from the syntax tree (issue 5).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kzlib.apis.resolve import resolve
from kzlib.records import Task, read_jsonl

SPECS = (
    "a folder of .py files, a .jsonl file, kernelbench:PATH:level1, multikernelbench:PATH[:CATEGORY], hub:ID[:SPLIT], "
    "heldout, heldout:1, heldout:2 or heldout:1:scale=8"
)
_CODE_COLUMNS = ("source", "code", "pytorch_code", "ref_code", "reference", "python_code")
HELDOUT = Path(__file__).parent / "heldout"


def load_tasks(spec: str) -> list[Task]:
    """Tasks of a source, in a stable order; a source that is not there is one sentence that says what to type.

    >>> len(load_tasks("heldout")), load_tasks("heldout:1")[0].origin
    (60, 'heldout/level1/m01_exp2.py')
    """
    kind, _, rest = spec.partition(":")
    loaders = {"kernelbench": _kernelbench, "multikernelbench": _multikernelbench, "hub": _hub, "heldout": _heldout}
    tasks = loaders[kind](rest) if kind in loaders else _path(spec)
    if not tasks:
        raise ValueError(f"{spec!r} holds no task: give {SPECS}")
    return tasks


def task_of(source: str, origin: str, level: int = 0) -> Task:
    """A task with its APIs read from the text; text that does not parse has none."""
    try:
        apis = resolve(source).apis
    except (SyntaxError, ValueError, RecursionError):
        apis = ()
    return Task(source, apis, origin, level)


def natural_key(text: str) -> tuple[tuple[int, str], ...]:
    """Sort key under which 2_x comes before 10_x.

    >>> sorted(["10_b", "2_a"], key=natural_key)
    ['2_a', '10_b']
    """
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part)


def _from_files(files: Iterable[Path], root: Path, label: str, level: int = 0) -> list[Task]:
    paths = sorted((p for p in files if p.name != "__init__.py"), key=lambda p: natural_key(str(p.relative_to(root))))
    return [task_of(p.read_text(encoding="utf-8"), f"{label}/{p.relative_to(root)}", level) for p in paths]


def _path(spec: str) -> list[Task]:
    path = Path(spec)
    if path.is_dir():
        return _from_files(path.rglob("*.py"), path, path.name)
    if path.is_file() and path.suffix == ".jsonl":
        return list(read_jsonl(path, Task))
    if path.is_file() and path.suffix == ".py":
        return [task_of(path.read_text(encoding="utf-8"), path.name)]
    raise FileNotFoundError(f"no tasks at {spec!r}: give {SPECS}")


def _kernelbench(rest: str) -> list[Task]:
    where, _, which = rest.rpartition(":")
    if not re.fullmatch(r"level\d", which):
        raise ValueError(f"kernelbench:{rest} names no level: type kernelbench:{rest or 'PATH'}:level1")
    for root in (Path(where) / "KernelBench", Path(where)):
        folder = root / which
        if folder.is_dir():
            return _from_files(folder.glob("*.py"), folder, f"kernelbench/{which}", int(which[-1]))
    raise FileNotFoundError(f"no {which} folder in {where}: give the path of a KernelBench checkout")


def _multikernelbench(rest: str) -> list[Task]:
    where, _, category = rest.partition(":")
    root = Path(where) / "reference"
    if not root.is_dir():
        raise FileNotFoundError(f"no reference folder in {where}: give the path of a MultiKernelBench checkout")
    if category and not (root / category).is_dir():
        names = ", ".join(sorted(p.name for p in root.iterdir() if p.is_dir()))
        raise FileNotFoundError(f"MultiKernelBench has no category {category!r}: type one of {names}")
    return [
        t for t in _from_files((root / category).rglob("*.py"), root, "multikernelbench") if "get_inputs" in t.source
    ]


def _hub(rest: str) -> list[Task]:
    name, _, split = rest.partition(":")
    if not name:
        raise ValueError("hub: names no data set: type hub:OWNER/NAME or hub:OWNER/NAME:SPLIT")
    try:
        from datasets import load_dataset
    except ImportError:
        raise ImportError("hub: sources need the datasets package: pip install datasets") from None
    loaded = load_dataset(name, split=split or None)
    parts = {split: loaded} if split else dict(loaded)
    return [task for part, rows in sorted(parts.items()) for task in _from_rows(rows, f"hub/{name}/{part}")]


def _from_rows(rows: Iterable[dict[str, object]], label: str) -> list[Task]:
    tasks = []
    for number, row in enumerate(rows):
        column = next((c for c in _CODE_COLUMNS if isinstance(row.get(c), str)), None)
        if column is None:
            raise ValueError(
                f"{label} has columns {', '.join(map(str, row))}, none of them {' or '.join(_CODE_COLUMNS)}"
            )
        level = row.get("level")
        title = row.get("name") or row.get("problem_id") or number
        tasks.append(task_of(str(row[column]), f"{label}/{title}", level if isinstance(level, int) else 0))
    return tasks


def _heldout(rest: str) -> list[Task]:
    """Our own 60 modules. `scale=N` replaces the line `SCALE = 1`, for sizes worth timing on a GPU."""
    matched = re.fullmatch(r"([12])?:?(?:scale=(\d+))?", rest)
    if matched is None:
        raise ValueError(
            f"heldout:{rest} is not a part of the held-out set: type heldout, heldout:1 or heldout:2:scale=8"
        )
    level, scale = matched.groups()
    tasks = []
    for number in (level,) if level else ("1", "2"):
        folder = HELDOUT / f"level{number}"
        tasks += _from_files(folder.glob("*.py"), folder, f"heldout/level{number}", int(number))
    if scale is None:
        return tasks
    return [
        Task(re.sub(r"(?m)^SCALE = 1\b", f"SCALE = {scale}", t.source), t.apis, f"{t.origin}@{scale}", t.level)
        for t in tasks
    ]
