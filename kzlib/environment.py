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
    """One {"name", "memory", "driver"} a GPU that programs here may use, asked of the driver's own tool; [] without."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version,uuid", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in done.stdout.splitlines() if line.count(",") == 3]
    seen = visible([row[3] for row in rows], os.environ.get("CUDA_VISIBLE_DEVICES"))
    return [dict(zip(("name", "memory", "driver"), rows[i][:3], strict=True)) for i in seen]


def visible(uuids: list[str], chosen: str | None) -> list[int]:
    """Which of a machine's GPUs CUDA_VISIBLE_DEVICES leaves: numbers or beginnings of UUIDs, up to the first bad one.

    >>> two = ["GPU-a1", "GPU-b2"]
    >>> [visible(two, chosen) for chosen in (None, "1", "GPU-b,0", "", "-1", "0,7,1")]
    [[0, 1], [1], [1, 0], [], [], [0]]
    """
    if chosen is None:
        return list(range(len(uuids)))
    found: list[int] = []
    for name in (part.strip() for part in chosen.split(",")):
        if name.isdigit():
            fits = [int(name)] if int(name) < len(uuids) else []
        else:
            fits = [i for i, uuid in enumerate(uuids) if name and uuid.startswith(name)]
        if len(fits) != 1:
            break
        found += fits
    return found


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
