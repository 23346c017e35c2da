"""Shared by all tests: offline, headless, one thread a process, no real results touched; slow marks are opt-in."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest

for name, value in {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "KZ_HEADLESS": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MPLBACKEND": "Agg",
}.items():
    os.environ.setdefault(name, value)
os.environ["KZ_OUTPUT_ROOT"] = tempfile.mkdtemp(prefix="kz-tests-")
for name in ("KZ_RUN_ID", "KZ_STAGE", "KZ_STAGE_KEY", "KZ_RUN_DIR"):  # set when a notebook runs the tests
    os.environ.pop(name, None)

OPT_IN = ("slow", "vllm", "browser")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip opt-in marks unless -m names them, and GPU tests where there is no GPU."""
    chosen = config.getoption("-m") or ""
    no_gpu = not any(Path("/dev").glob("nvidia[0-9]*"))
    for item in items:
        for mark in OPT_IN:
            if item.get_closest_marker(mark) and mark not in chosen:
                command = "make browser-test" if mark == "browser" else f"make test-{mark}"
                item.add_marker(pytest.mark.skip(reason=f"run by {command}"))
        if no_gpu and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(autouse=True)
def seeded() -> None:
    """A test that draws without a seed of its own draws the same each time: by chance none fails, and none passes."""
    import torch

    random.seed(0)
    torch.manual_seed(0)


def pytest_sessionfinish() -> None:
    """Leave no folder behind."""
    import shutil

    shutil.rmtree(os.environ["KZ_OUTPUT_ROOT"], ignore_errors=True)
