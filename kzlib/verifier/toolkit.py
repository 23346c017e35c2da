"""The compilers on this machine and the target they build for. Source: issue 4, item 1; report P14."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

LEAN = Path(__file__).parent / "lean"


class ToolMissing(RuntimeError):  # noqa: N818 - named for what happened
    """This machine cannot build CUDA code: `infra`, never `compile_fail`."""


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Compilers, their versions, and what the installed PyTorch offers for a full build."""

    nvcc: str
    cxx: str
    library_folder: str  # holds libcudart.so
    cuda_include: str  # holds cuda_runtime.h
    version: str  # of nvcc and the host compiler, one line
    arch: str  # "90", "90a", "100" ...
    standard: str  # "c++17" or "c++20", as the installed PyTorch builds extensions
    dispatch_on_type: bool  # PyTorch's AT_DISPATCH takes x.type()
    full_headers: bool  # the installed PyTorch has CUDA, so its own headers can be built and linked against

    @property
    def digest(self) -> str:
        """Everything about the tools and our headers that an object depends on."""
        facts = [self.version, self.arch, self.standard, str(self.dispatch_on_type), lean_digest()]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


@functools.cache
def lean_digest() -> str:
    """One digest over the lean headers, so that a changed header is a changed build."""
    digest = hashlib.sha256()
    for file in sorted(LEAN.rglob("*")):
        if file.is_file():
            digest.update(str(file.relative_to(LEAN)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def find_nvcc() -> str | None:
    """nvcc from CUDA_HOME, the PATH, or the usual folder; notebook servers often run without the PATH of a login."""
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    candidates = [f"{home}/bin/nvcc"] if home else []
    candidates += [shutil.which("nvcc") or "", "/usr/local/cuda/bin/nvcc"]
    candidates += [str(p / "bin" / "nvcc") for p in sorted(Path("/usr/local").glob("cuda-*"), reverse=True)]
    return next((c for c in candidates if c and Path(c).exists()), None)


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


@functools.cache
def toolkit(arch: str = "90") -> Toolkit:
    """The tools found here. `ToolMissing` says in a sentence what is not there."""
    nvcc = find_nvcc()
    if nvcc is None:
        raise ToolMissing("nvcc was not found: install the CUDA toolkit or set CUDA_HOME")
    cxx = shutil.which("g++") or shutil.which("c++")
    if cxx is None:
        raise ToolMissing("no C++ compiler was found: install g++")
    import torch

    dryrun = subprocess.run(
        [nvcc, "--dryrun", "-x", "cu", "/dev/null", "-o", "/dev/null"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    ).stderr
    top = re.search(r"TOP=(\S+)", dryrun)
    home = Path(top.group(1)).resolve() if top else Path(nvcc).resolve().parents[1]
    folders = [home / "lib64", home / "lib", home / "targets" / "x86_64-linux" / "lib"]
    library = next((f for f in folders if list(f.glob("libcudart.so*"))), None)
    if library is None:
        raise ToolMissing(f"libcudart.so was not found under {home}: install the CUDA runtime library")
    include = next(
        (
            f
            for f in (home / "include", home / "targets" / "x86_64-linux" / "include")
            if (f / "cuda_runtime.h").exists()
        ),
        None,
    )
    if include is None:
        raise ToolMissing(f"cuda_runtime.h was not found under {home}: install the CUDA headers")
    root = Path(torch.__file__).parent
    extension = (root / "utils" / "cpp_extension.py").read_text()
    dispatch = root / "include" / "ATen" / "Dispatch.h"
    nvcc_version = _output([nvcc, "--version"]).strip().splitlines()[-1]
    return Toolkit(
        nvcc, cxx, str(library), str(include), f"{nvcc_version}; {_output([cxx, '--version']).splitlines()[0]}", arch,
        "c++20" if "'-std=c++20'" in extension else "c++17",
        dispatch.exists() and "DeprecatedTypeProperties" in dispatch.read_text(),
        torch.version.cuda is not None and (root / "lib" / "libtorch_cuda.so").exists(),
    )  # fmt: skip


def python_include() -> str:
    """The folder of Python.h. `ToolMissing` if it is not installed."""
    folder = sysconfig.get_paths()["include"]
    if not (Path(folder) / "Python.h").exists():
        raise ToolMissing(f"{folder}/Python.h was not found: install Python's development headers")
    return folder
