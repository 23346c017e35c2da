"""Where a run's files are: one folder per run, whole files only, one manifest that says what each is and who made it.

Every path of a notebook goes through `open_run(...)`, never through the working directory, so the same cell works
under the runner, in Lab and alone. Files appear by rename: a reader never sees half of one (DESIGN section 4, issue 2).
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.environment import ROOT, environment

__all__ = ["ROOT", "MissingInputError", "Run", "digest", "environment", "new_run_name", "open_run", "write_atomic"]

SCHEMA = 1


class MissingInputError(RuntimeError):
    """A file that another notebook makes is not there; a notebook shows only the sentence, no stack trace."""

    def _render_traceback_(self) -> list[str]:  # IPython's hook: what to print instead of a traceback
        return [f"MissingInputError: {self}"]


@dataclass(frozen=True)
class Run:
    """One run: a folder, the profile it belongs to, and the stage that is using it.

    >>> import tempfile
    >>> run = open_run(tempfile.mkdtemp(), "smoke", "demo", stage="01_data_sampling")
    >>> run.write_json("metrics/x.json", {"a": 1}).name
    'x.json'
    >>> run.record("x", "metrics/x.json", kind="metrics")["stage"]
    '01_data_sampling'
    """

    root: Path
    profile: str
    name: str
    stage: str = ""

    def __repr__(self) -> str:  # no absolute path: this text lands in executed notebooks
        return f"Run(outputs/{self.profile}/{self.name})"

    def path(self, relative: str | os.PathLike[str]) -> Path:
        """Where a file of this run is or will be; its folder exists afterwards."""
        path = self.root / relative
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise ValueError(f"{relative} lies outside the run's folder: give a path relative to it")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def require(self, relative: str, made_by: str) -> Path:
        """The path of an input, or one sentence that names the notebook to run first."""
        path = self.root / relative
        if not path.exists():
            raise MissingInputError(
                f"{relative} is not in {self!r}: run notebook {made_by} first "
                f"(kz run --profile {self.profile} --to {made_by})"
            )
        return path

    @contextlib.contextmanager
    def replacing(self, relative: str) -> Iterator[Path]:
        """A scratch path to write a file or a folder to; on a clean exit it takes the place of `relative` by rename."""
        final = self.path(relative)
        scratch = final.with_name(f".{final.name}.part")
        _remove(scratch)
        try:
            yield scratch
            _swap(scratch, final)
        finally:
            _remove(scratch)

    def write_text(self, relative: str, text: str) -> Path:
        """Write a whole text file by rename and return its path."""
        return write_atomic(self.path(relative), text.encode())

    def write_json(self, relative: str, value: Any) -> Path:
        """Write one JSON value by rename; NaN and infinities are refused, because other readers stop at them."""
        return self.write_text(relative, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")

    def figure_paths(self, stem: str) -> dict[str, Path]:
        """Where a figure's three files go: {"pdf": ..., "png": ..., "csv": ...}."""
        return {kind: self.path(f"figures/{stem}.{kind}") for kind in ("pdf", "png", "csv")}

    def resume_dir(self, purpose: str) -> Path:
        """A folder for what a killed notebook continues from (training checkpoints, answers judged so far).

        It survives a crash and is emptied when the stage's parameters, sources or inputs change and when the stage has
        finished. Append-only files belong here; results are published at the end through `write_*` or `replacing`.
        """
        key = os.environ.get("KZ_STAGE_KEY", "interactive")[:12]
        folder = self.path(f"stages/{self._stage()}/resume/{key}/{purpose}")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def record(self, name: str, path: str | os.PathLike[str], kind: str, alt: str = "", **facts: Any) -> dict[str, Any]:
        """Enter a file or folder of this run into the manifest: digest, size, kind, stage, alt text, further facts."""
        absolute = self.root / path
        if not absolute.exists():
            raise FileNotFoundError(f"{path} is not in {self!r}: write it before recording it as {name}")
        relative = str(absolute.resolve().relative_to(self.root.resolve()))
        entry: dict[str, Any] = {
            "path": relative,
            "kind": kind,
            "stage": self._stage(),
            "digest": digest(absolute),
            "bytes": size(absolute),
        }
        if alt:
            entry["alt"] = alt
        if facts:
            entry["facts"] = facts
        with self._locked_manifest() as manifest:
            manifest["entries"][name] = entry
        return entry

    def adopt(self, entries: dict[str, dict[str, Any]]) -> None:
        """Enter what another run recorded of files that were copied from it unchanged."""
        with self._locked_manifest() as manifest:
            manifest["entries"].update(entries)

    def manifest(self) -> dict[str, Any]:
        """All entries recorded so far: {"schema", "profile", "run", "entries": {name: entry}}."""
        path = self.root / "manifest.json"
        if not path.exists():
            return {"schema": SCHEMA, "profile": self.profile, "run": self.name, "entries": {}}
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            raise ValueError(f"manifest.json of {self!r} is not JSON ({error.msg}): delete it and run again") from None

    def finish(self, stage: str = "", outcome: str = "done", reason: str = "") -> None:
        """The last cell of every notebook: says that this very execution reached its end ("empty" needs a reason)."""
        stage = stage or self._stage()
        record: dict[str, Any] = {
            "stage": stage,
            "run_id": os.environ.get("KZ_RUN_ID", "interactive"),
            "outcome": outcome,
        }
        record |= {"reason": reason, "time": _now(), "environment": environment()}
        self.write_json(f"stages/{stage}/finish.json", record)
        if "KZ_RUN_ID" not in os.environ:  # under the runner, the runner does it once the stamp is written
            _remove(self.root / "stages" / stage / "resume")

    def _stage(self) -> str:
        return self.stage or os.environ.get("KZ_STAGE", "interactive")

    @contextlib.contextmanager
    def _locked_manifest(self) -> Iterator[dict[str, Any]]:
        lock = self.path("stages/.manifest.lock")
        with lock.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            manifest = self.manifest()
            yield manifest
            manifest["entries"] = dict(sorted(manifest["entries"].items()))
            self.write_json("manifest.json", manifest)


def open_run(output_root: str | os.PathLike[str], profile: str, run_name: str = "latest", stage: str = "") -> Run:
    """The run called `run_name` of a profile; "latest" is the newest, or a new one when there is none yet.

    `output_root` is relative to the project's folder; the environment variable KZ_OUTPUT_ROOT overrides it, so that
    tests never touch real results.
    """
    base = Path(os.environ.get("KZ_OUTPUT_ROOT") or ROOT / output_root) / profile
    name = run_name
    if run_name == "latest":
        name = latest_run(base) or new_run_name()
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ValueError(f"{name} cannot name a run: use letters, digits, dots, dashes and underscores")
    try:
        (base / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RuntimeError(
            f"outputs cannot be written ({error.strerror}): make the folder {base.parent.name}/ writable, "
            "or set KZ_OUTPUT_ROOT to another folder"
        ) from None
    return Run(base / name, profile, name, stage)


def latest_run(base: Path) -> str | None:
    """The newest run folder's name under `outputs/<profile>`: names begin with their time, so they sort by it."""
    if not base.is_dir():
        return None
    return max((path.name for path in base.iterdir() if path.is_dir() and not path.name.startswith(".")), default=None)


def new_run_name(key: str = "lab") -> str:
    """`<YYYYmmdd-HHMMSS>-<key>`.

    >>> new_run_name("0f06b1").endswith("-0f06b1")
    True
    """
    return f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{key}"


def write_atomic(path: Path, data: bytes) -> Path:
    """Replace a file by a whole new one; a crash leaves the old one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(scratch).chmod(0o666 & ~umask)  # mkstemp's 0600 would hide results from a group
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    return path


def digest(path: Path) -> str:
    """Sixteen hex digits of a file's content, or of a folder's names and contents.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()); _ = (folder / "a").write_text("x")
    >>> digest(folder) == digest(folder), len(digest(folder / "a"))
    (True, 16)
    """
    sha = hashlib.sha256()
    if path.is_dir():
        for inner in sorted(p for p in path.rglob("*") if p.is_file()):
            sha.update(f"{inner.relative_to(path)}\0{digest(inner)}\n".encode())
    else:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                sha.update(block)
    return sha.hexdigest()[:16]


def size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    return path.stat().st_size


def _swap(scratch: Path, final: Path) -> None:
    if not scratch.exists():
        raise FileNotFoundError(
            f"nothing was written to take the place of {final.name}: write to the path that was given"
        )
    if final.is_dir() and not final.is_symlink():  # rename cannot replace a folder that has content
        old = final.with_name(f".{final.name}.old")
        _remove(old)  # of a process that was killed between the next two lines
        final.rename(old)
        scratch.rename(final)
        _remove(old)
    else:
        scratch.replace(final)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
