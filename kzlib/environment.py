"""What a result was made with: versions, device, sources, lock; never a user's name, a host or a path."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent  # the project's folder: notebooks/, params/, outputs/ are in it

PACKAGES = (
    "torch", "triton", "transformers", "trl", "accelerate", "datasets", "tokenizers", "numpy", "pandas", "matplotlib",
    "papermill", "nbclient", "ipykernel", "jupyterlab", "vllm",
)  # fmt: skip


def environment() -> dict[str, Any]:
    """Versions, processor, GPUs, git commit and lock digest as plain JSON values; an absent package is left out.

    >>> environment()["packages"]["numpy"].split(".")[0].isdigit()
    True
    """
    return dict(_environment())


@cache
def _environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": versions(PACKAGES),
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "gpus": gpus(),
        **git_state(),
        "lock": lock_digest(),
    }


def versions(names: tuple[str, ...]) -> dict[str, str]:
    """Installed versions, read from package metadata: nothing is imported."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def cpu_name() -> str:
    """The processor's model name, or its architecture where the system does not tell."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def gpus() -> list[dict[str, str]]:
    """One {"name", "memory", "driver"} a GPU, asked of the driver's own tool; [] without one."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.count(",") == 2]
    return [dict(zip(("name", "memory", "driver"), row, strict=True)) for row in rows]


def git_state() -> dict[str, Any]:
    """{"commit", "dirty"} of the project's checkout; {} where it is not one."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return {}
    return {"commit": commit.strip(), "dirty": bool((_git("status", "--porcelain", "-uno") or "").strip())}


def lock_digest() -> str:
    """Sixteen hex digits of `requirements.lock`, or "none"."""
    lock = ROOT / "requirements.lock"
    return hashlib.sha256(lock.read_bytes()).hexdigest()[:16] if lock.exists() else "none"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
