"""Runs teacher kernels in Triton's interpreter against Torch. A script: it must be its own process, because the
interpreter is chosen before triton is imported. One JSON job on standard input, one JSON answer a line out."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch


def load(source: str, folder: Path, name: str) -> ModuleType:
    """Triton reads a kernel's source from its file, so a module needs one."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else [t for v in value for t in flat(v)]


def difference(task: str, kernel: str, folder: Path, name: str) -> str:
    """What is wrong, or an empty text."""
    try:
        reference, candidate = load(task, folder, f"t{name}"), load(kernel, folder, f"k{name}")
        torch.manual_seed(0)
        init = reference.get_init_inputs()
        right, ours = reference.Model(*init), candidate.ModelNew(*init)
        ours.load_state_dict(right.state_dict())
        inputs = reference.get_inputs()
        with torch.no_grad():
            want = flat(right(*[v.clone() if isinstance(v, torch.Tensor) else v for v in inputs]))
            got = flat(ours(*inputs))
        assert len(want) == len(got), f"{len(got)} outputs for {len(want)}"
        for a, b in zip(got, want, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(dict(ours.state_dict()), dict(right.state_dict()), rtol=1e-4, atol=1e-5)
    except Exception as error:  # the answer of this script is what went wrong
        return f"{type(error).__name__}: {str(error)[:400]}"
    return ""


def main() -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for k, (task, kernel) in enumerate(json.load(sys.stdin)):
            print(json.dumps(difference(task, kernel, Path(folder), str(k))), flush=True)


if __name__ == "__main__":
    main()
