"""The ways in (pip, conda, make) must name the same packages, and every module must import without a GPU."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())


def lock() -> dict[str, Version]:
    lines = [
        line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and not line.startswith("#")
    ]
    pins = [re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s;]+)", line) for line in lines]
    assert all(pins), f"not a plain pin: {[line for line, pin in zip(lines, pins, strict=True) if not pin]}"
    return {canonicalize_name(pin[1]): Version(pin[2]) for pin in pins if pin}


def test_the_lock_pins_every_dependency_inside_its_range() -> None:
    pins = lock()
    extras = PROJECT["optional-dependencies"]
    for text in [*PROJECT["dependencies"], *extras["dev"], *extras["browser"]]:
        wanted = Requirement(text)
        assert canonicalize_name(wanted.name) in pins, wanted.name
        assert wanted.specifier.contains(pins[canonicalize_name(wanted.name)]), text


def test_the_lock_is_portable() -> None:
    for name, version in lock().items():
        assert version.local is None, f"{name} is pinned to a local build"
        assert name != "kernelzero"


def test_the_lock_is_what_is_installed_here() -> None:
    """Else the tests have run with something that nobody else gets."""
    if os.environ.get("KZ_OTHER_VERSIONS"):
        pytest.skip("run on purpose with other versions than the lock's")
    from importlib.metadata import version

    for name in ("torch", "triton", "transformers", "trl", "papermill", "nbclient", "numpy"):
        assert Version(version(name)).public == lock()[name].public


def test_conda_installs_the_project_itself_and_repeats_no_version() -> None:
    plain = [d for d in CONDA["dependencies"] if isinstance(d, str)]
    [pip] = [d["pip"] for d in CONDA["dependencies"] if isinstance(d, dict)]
    assert [d for d in plain if "=" in d] == [d for d in plain if d.startswith("python=")]
    python = plain[0].partition("=")[2]
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(python)
    assert "--constraint requirements.lock" in pip
    [editable] = [line for line in pip if line.startswith("--editable")]
    extras = Requirement(f"x{editable.split('.')[1]}").extras
    assert extras <= set(PROJECT["optional-dependencies"])
    assert CONDA["name"] == PROJECT["name"]


def test_the_makefile_looks_for_the_supported_pythons() -> None:
    text = (ROOT / "Makefile").read_text()
    found = re.search(r"\((\d+), (\d+)\) <= sys.version_info\[:2\] <= \((\d+), (\d+)\)", text)
    assert found
    low, high = found.groups()[:2], found.groups()[2:]
    supported = Requirement(f"python{PROJECT['requires-python']}").specifier
    assert supported.contains(".".join(low))
    assert supported.contains(".".join(high))
    assert not supported.contains(f"{high[0]}.{int(high[1]) + 1}")


def test_make_help_lists_every_target_and_needs_nothing() -> None:
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("run", "test", "lab", "lint", "test-slow", "test-vllm", "test-nbmake", "browser-test", "clean"):
        assert re.search(rf"^  {target} ", done.stdout, re.M), target


def test_make_names_what_is_missing_when_no_python_fits(tmp_path: Path) -> None:
    """On a machine whose only Python is too old, and where no environment exists yet."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("make", "bash", "grep", "echo", "test", "touch", "sed", "expand"):
        found = next(f for f in (Path(p) / tool for p in os.environ["PATH"].split(os.pathsep)) if f.exists())
        (tools / tool).symlink_to(found)
    (tools / "python3").write_text("#!/bin/bash\nexit 1\n")
    (tools / "python3").chmod(0o755)
    done = subprocess.run(
        ["make", "run"], cwd=tmp_path, env={"PATH": str(tools)}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "there is no Python 3.11-3.13 with venv" in done.stderr
    assert "PYTHON=" in done.stderr


def test_every_module_imports_where_there_is_no_gpu() -> None:
    program = """
import importlib, pathlib, sys
root = pathlib.Path("kzlib")
names = [".".join(p.with_suffix("").parts).removesuffix(".__init__") for p in root.rglob("*.py")]
packages = {".".join(p.parent.parts) for p in root.rglob("__init__.py")}
for name in sorted(n for n in names if n.rpartition(".")[0] in packages or n == "kzlib"):
    importlib.import_module(name)
print(len(names))
"""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 30


def test_no_module_imports_a_gpu_package_at_its_top() -> None:
    """Else a reader with a processor only could not even open the notebook (triton-lang/triton#6150)."""
    for path in (ROOT / "kzlib").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            lazy = {"vllm", "ray", "pynvml", "cuda"}
            if path.parent.name != "verifier":  # there, some modules are programs of the judged child
                lazy.add("triton")
            gpu = {name.partition(".")[0] for name in names} & lazy
            assert not gpu, f"{path.relative_to(ROOT)} imports {gpu.pop()} at its top: import it where it is used"
