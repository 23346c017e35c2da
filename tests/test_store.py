"""The build store in a long run: many workers, killed builders, a size limit, tampering."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from kzlib.verifier.store import MANIFEST, Store, StoreBusy

KEY = "ab" * 8


def _slow(folder: Path, seconds: float = 0.3, log: Path | None = None) -> None:
    if log is not None:
        with log.open("a") as file:
            file.write("made\n")
    (folder / "half.bin").write_bytes(b"x" * 1000)
    time.sleep(seconds)
    (folder / "whole.bin").write_bytes(b"y" * 1000)


def _worker(root: Path, log: Path, results: multiprocessing.Queue) -> None:
    entry = Store(root).build(KEY, lambda folder: _slow(folder, log=log))
    results.put(sorted(p.name for p in entry.iterdir()))


def test_eight_workers_build_once_and_all_see_the_whole_entry(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue = context.Queue()
    workers = [context.Process(target=_worker, args=(tmp_path / "s", tmp_path / "log", results)) for _ in range(8)]
    for worker in workers:
        worker.start()
    seen = [results.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert seen == [["half.bin", MANIFEST, "whole.bin"]] * 8
    assert (tmp_path / "log").read_text().count("made") == 1


def _dies(root: Path, started: str) -> None:
    def make(folder: Path) -> None:
        (folder / "half.bin").write_bytes(b"x")
        Path(started).touch()
        time.sleep(600)

    Store(root).build(KEY, make)


def test_a_killed_builder_blocks_nobody(tmp_path: Path) -> None:
    started = tmp_path / "started"
    builder = multiprocessing.get_context("fork").Process(target=_dies, args=(tmp_path / "s", str(started)))
    builder.start()
    while not started.exists():
        time.sleep(0.01)
    assert builder.pid is not None
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    entry = Store(tmp_path / "s").build(KEY, lambda folder: _slow(folder, 0.0), wait=10.0)
    assert (entry / "whole.bin").exists()


def test_a_builder_that_takes_too_long_is_named(tmp_path: Path) -> None:
    started = tmp_path / "started"
    builder = multiprocessing.get_context("fork").Process(target=_dies, args=(tmp_path / "s", str(started)))
    builder.start()
    try:
        while not started.exists():
            time.sleep(0.01)
        with pytest.raises(StoreBusy, match="held by another builder"):
            Store(tmp_path / "s").build(KEY, lambda folder: None, wait=0.2)
    finally:
        builder.kill()
        builder.join()


def test_a_failed_build_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fail(folder: Path) -> None:
        (folder / "half.bin").write_bytes(b"x")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.build(KEY, fail)
    assert store.get(KEY) is None
    assert list(store.making.iterdir()) == []


def test_a_changed_file_is_not_served(tmp_path: Path) -> None:
    store = Store(tmp_path)
    entry = store.build(KEY, lambda folder: (folder / "lib.so").write_bytes(b"good"))
    (entry / "lib.so").chmod(0o644)
    (entry / "lib.so").write_bytes(b"evil")
    assert store.get(KEY) is None
    assert (
        store.build(KEY, lambda folder: (folder / "lib.so").write_bytes(b"good")).joinpath("lib.so").read_bytes()
        == b"good"
    )


def test_the_store_keeps_what_was_used_last(tmp_path: Path) -> None:
    store = Store(tmp_path, limit_bytes=3500)
    keys = [f"{n:016x}" for n in range(4)]
    for number, key in enumerate(keys[:3]):
        entry = store.build(key, lambda folder: (folder / "lib.so").write_bytes(b"z" * 1000))
        os.utime(entry, (1000 + number, 1000 + number))
    store.get(keys[0])  # used again: now the newest
    store.build(keys[3], lambda folder: (folder / "lib.so").write_bytes(b"z" * 1000))
    store.trim()
    assert [store.get(key) is not None for key in keys] == [True, False, True, True]


@pytest.mark.parametrize("key", ["../../etc/passwd", "", "XYZ" * 8, "a" * 15])
def test_a_key_is_never_a_path(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        Store(tmp_path).get(key)
