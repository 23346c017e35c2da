"""The key of a stage, the stamp that says it was done under that key, and the words for why it must run again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from kzlib.environment import ROOT, lock_digest
from kzlib.params import Params
from kzlib.runner import notebooks
from kzlib.runner.lock import holder_of
from kzlib.runner.sources import library_digests
from kzlib.stages import Stage, stages
from kzlib.workspace import Run, digest, write_atomic

SCHEMA = 1
NOTEBOOKS = ROOT / "notebooks"


@dataclass(frozen=True)
class State:
    """Where a stage stands: one word and the reasons."""

    word: Literal["fresh", "stale", "failed", "never run", "running"]
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.reasons:
            return self.word
        link = {"stale": "stale because ", "never run": "never run, ", "failed": "failed: "}.get(
            self.word, f"{self.word}, "
        )
        more = f" (and {len(self.reasons) - 2} more)" if len(self.reasons) > 2 else ""
        return link + "; ".join(self.reasons[:2]) + more


class Digests:
    """Digests of a run's files, remembered by size and time of change: status of a large run is quick."""

    def __init__(self, root: Path) -> None:
        self.root, self._file = root, root / "stages" / ".digests.json"
        try:
            self._known: dict[str, Any] = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            self._known = {}

    def of(self, relative: str) -> str | None:
        """Digest of a file or folder; None if there is none."""
        path = self.root / relative
        if path.is_dir():
            inner = sorted(p for p in path.rglob("*") if p.is_file())
            lines = [f"{p.relative_to(path)}\0{self._of_file(p)}\n" for p in inner]
            return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]
        return self._of_file(path) if path.exists() else None

    def save(self) -> None:
        """Keep what was computed for the next call."""
        write_atomic(self._file, json.dumps(self._known).encode())

    def _of_file(self, path: Path) -> str:
        stat = path.stat()
        name, mark = str(path.relative_to(self.root)), [stat.st_size, stat.st_mtime_ns, stat.st_ino]
        known = self._known.get(name)
        if not known or known[:3] != mark:
            self._known[name] = known = [*mark, digest(path)]
        return known[3]


@dataclass(frozen=True)
class Context:
    """A run, its profile, its stages in order, and the folder that their notebooks are in."""

    run: Run
    params: Params
    every: tuple[Stage, ...]
    notebooks: Path = NOTEBOOKS
    digests: Digests = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digests", Digests(self.run.root))

    @classmethod
    def of(cls, run: Run, params: Params) -> Context:
        """The suite's own stages, for the profile's number of rounds."""
        return cls(run, params, stages(params.run.rounds))

    @property
    def root(self) -> Path:
        return self.run.root

    def again(self) -> Context:
        """The same with fresh digests: files have changed."""
        return replace(self)


def key_parts(stage: Stage, context: Context) -> dict[str, Any]:
    """Everything a stage's result depends on; NotebookError if the notebook cannot be used."""
    notebook = notebooks.load(context.notebooks / f"{stage.notebook}.ipynb")
    return {
        "schema": SCHEMA,
        "notebook": notebooks.digest(notebook),
        "library": library_digests(notebooks.imports(notebook)),
        "parameters": values_for(stage, notebook, context.params),
        "inputs": input_digests(stage, context),
        "lock": lock_digest(),
        "device": device() if stage.timed else "",
    }


def key_of(parts: Mapping[str, Any]) -> str:
    """The digest of all parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def values_for(stage: Stage, notebook: dict[str, Any], params: Params) -> dict[str, Any]:
    """The settings that the notebook's parameters cell declares, with the profile's values."""
    given = params.section_values(stage.sections)
    if stage.round_number:
        given["round_number"] = stage.round_number
    declared = notebooks.check_names(notebook, stage)
    return {name: given[name] for name in declared if name in given}


def input_paths(stage: Stage, root: Path) -> list[str]:
    """Inputs by relative path, patterns expanded; an exact path is listed even while it is missing."""
    found: list[str] = []
    for pattern in stage.inputs:
        if "*" in pattern:
            matches = sorted(str(p.relative_to(root)) for p in root.glob(pattern))
            found.extend(m for m in matches if m not in stage.outputs)
        else:
            found.append(pattern)
    return found


def input_digests(stage: Stage, context: Context) -> dict[str, str | None]:
    """Digest of every input; None for one that is not there."""
    return {path: context.digests.of(path) for path in input_paths(stage, context.root)}


def device() -> str:
    """The GPU's model as the driver's own files name it, or "cpu"; costs no import of Torch."""
    for information in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("Model:"):
                return line.partition(":")[2].strip()
    return "cpu"


def state_of(stage: Stage, context: Context) -> State:
    """One word and the reasons for one stage, as `kz status` prints them."""
    folder = context.root / "stages" / stage.name
    running = read_json(folder / "running.json")
    if running and holder_of(context.root):
        return State("running", (f"since {running['since']}",))
    failed = read_json(folder / "failed.json")
    if failed:
        return State("failed", (failed["cause"],))
    if running:
        return State("failed", (f"its runner was killed after it began at {running['since']}",))
    stamp = read_json(folder / "stamp.json")
    if stamp is None:
        unreadable = (folder / "stamp.json").exists()
        missing = [p for p in input_paths(stage, context.root) if not (context.root / p).exists()]
        waiting = (f"it waits for {missing[0]}",) if missing else ()
        return State("stale", ("its stamp cannot be read",)) if unreadable else State("never run", waiting)
    parts = key_parts(stage, context)
    reasons = [*differences(stamp["parts"], parts), *changed_outputs(stamp, context)]
    if not reasons and stamp["key"] != key_of(parts):
        reasons = ["its key differs"]
    return State("stale", tuple(reasons)) if reasons else State("fresh")


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """What changed between two sets of key parts, in words, most direct first."""
    if old.get("notebook") != new["notebook"]:
        yield "the notebook's code changed"
    for name, was, now in _changes(old.get("parameters", {}), new["parameters"]):
        yield f"{name} changed from {was} to {now}"
    for name, was, now in _changes(old.get("library", {}), new["library"]):
        yield f"{name} " + (
            "changed" if was is not None and now is not None else "is new" if was is None else "is gone"
        )
    for name, was, now in _changes(old.get("inputs", {}), new["inputs"]):
        yield f"its input {name} " + ("is missing" if now is None else "is new" if was is None else "changed")
    if old.get("lock") != new["lock"]:
        yield "requirements.lock changed"
    if old.get("device") != new["device"]:
        yield f"the device changed from {old.get('device') or 'any'} to {new['device']}"
    if old.get("schema") != new["schema"]:
        yield "the stamp's format changed"


def changed_outputs(stamp: Mapping[str, Any], context: Context) -> Iterator[str]:
    """Artefacts that are not as the stage left them."""
    for name, was in stamp["outputs"].items():
        now = context.digests.of(name)
        if now is None:
            yield f"its output {name} is missing"
        elif now != was:
            yield f"its output {name} was changed since"


def read_json(path: Path) -> dict[str, Any] | None:
    """A small record of ours; None if it is absent or cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in [*new, *(n for n in old if n not in new)]:
        if old.get(name) != new.get(name):
            yield name, old.get(name), new.get(name)
