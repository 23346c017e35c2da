"""A content-addressed store of compiled code, shared by workers and runs.

An entry is a folder named by its key. It is made in a private folder and moved into place in one rename, so a reader
sees all of it or nothing. Builders of one key take turns through an operating-system lock, which is freed when its
owner dies: a killed builder blocks nobody (reports P12, P13, P21). Source: issue 4, item 2.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCKS = 1024  # files; keys that share one only wait for each other
MANIFEST = "manifest.json"
_KEY = re.compile(r"[0-9a-f]{16,64}")


class StoreBusy(TimeoutError):  # noqa: N818 - named for what happened
    """Somebody has been building this key for longer than the caller wants to wait."""


def default_root() -> Path:
    """`$KZ_STORE`, else a folder in the user's cache directory."""
    chosen = os.environ.get("KZ_STORE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kernelzero" / "builds"


class Store:
    """Compiled code by key. Candidates may be given `root` read-only, never writable.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> entry = store.build("0" * 16, lambda folder: (folder / "a.txt").write_text("made"))
    >>> (entry / "a.txt").read_text(), store.get("f" * 16)
    ('made', None)
    """

    def __init__(self, root: Path | str | None = None, limit_bytes: int = 4 << 30) -> None:
        self.root = Path(root) if root is not None else default_root()
        self.limit_bytes = limit_bytes
        self._published = 0
        for folder in (self.entries, self.locks, self.making):
            folder.mkdir(parents=True, exist_ok=True, mode=0o755)

    @property
    def entries(self) -> Path:
        return self.root / "entries"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def making(self) -> Path:
        return self.root / "making"

    def path(self, key: str) -> Path:
        """Where the entry of `key` is or would be."""
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is not a key: a key is 16 to 64 hex digits")
        return self.entries / key

    def get(self, key: str) -> Path | None:
        """The entry's folder, or None. One whose files do not match its manifest is removed and counts as absent."""
        entry = self.path(key)
        if not entry.is_dir():
            return None
        if not _intact(entry):
            _remove(entry)
            return None
        try:
            os.utime(entry)  # the clock of least-recently-used
        except OSError:
            return None  # trimmed by another worker between the check and now
        return entry

    def build(self, key: str, make: Callable[[Path], object], wait: float = 900.0) -> Path:
        """The entry of `key`, made by `make(folder)` if it is not there. Whatever `make` raises is raised.

        At most one builder works on a key at a time; the others wait up to `wait` seconds (`StoreBusy` after that).
        """
        found = self.get(key)
        if found is not None:
            return found
        with self._lock(key, wait):
            found = self.get(key)
            if found is not None:
                return found
            folder = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=self.making))
            try:
                make(folder)
                self._publish(folder, key)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        self._published += 1
        if self._published % 64 == 1:
            self.trim()
        return self.path(key)

    def _publish(self, folder: Path, key: str) -> None:
        files = sorted(p for p in folder.rglob("*") if p.is_file())
        digests = {str(p.relative_to(folder)): _digest(p) for p in files}
        for file in files:
            file.chmod(0o444 | (file.stat().st_mode & 0o111))
        (folder / MANIFEST).write_text(json.dumps(digests))
        folder.chmod(0o755)
        os.rename(folder, self.path(key))  # noqa: PTH104 - an existing target must be an error, as rename of folders is

    @contextmanager
    def _lock(self, key: str, wait: float) -> Iterator[None]:
        name = self.locks / f"{int(key[:12], 16) % LOCKS:04d}"
        deadline = time.monotonic() + wait
        handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            pause = 0.005
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise StoreBusy(f"{name} has been held by another builder for {wait:.0f} s") from None
                    time.sleep(pause)
                    pause = min(0.1, pause * 1.5)
            yield
        finally:
            os.close(handle)

    def size(self) -> int:
        """Bytes in published entries."""
        return sum(f.stat().st_size for entry in _folders(self.entries) for f in entry.iterdir())

    def trim(self) -> int:
        """Remove the least recently used entries until the store fits `limit_bytes`, and leavings of killed builders
        older than an hour. Returns how many entries went."""
        hour_ago = time.time() - 3600
        for leaving in _folders(self.making):
            if leaving.stat().st_mtime < hour_ago:
                shutil.rmtree(leaving, ignore_errors=True)
        sized = []
        for entry in _folders(self.entries):
            try:
                sized.append((entry.stat().st_mtime, sum(f.stat().st_size for f in entry.iterdir()), entry))
            except OSError:
                continue  # another worker is trimming too
        total = sum(size for _, size, _ in sized)
        removed = 0
        for _, size, entry in sorted(sized):
            if total <= self.limit_bytes:
                break
            _remove(entry)
            total -= size
            removed += 1
        return removed


def _folders(root: Path) -> list[Path]:
    return [Path(item.path) for item in os.scandir(root) if item.is_dir(follow_symlinks=False)]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _intact(entry: Path) -> bool:
    try:
        digests = json.loads((entry / MANIFEST).read_text())
        return all(_digest(entry / name) == digest for name, digest in digests.items())
    except (OSError, ValueError, AttributeError):
        return False


def _remove(entry: Path) -> None:
    # Renamed first, so that no reader meets half an entry; a process that has the library mapped keeps it.
    gone = entry.parent.parent / "making" / f"gone.{entry.name}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        entry.rename(gone)
    except OSError:
        return
    shutil.rmtree(gone, ignore_errors=True)
