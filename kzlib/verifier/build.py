"""Builds a candidate's CUDA extension: lean headers first, PyTorch's own as the fallback, both kept in the store.

Nearly all of a `load_inline` build is PyTorch's headers. The lean ones under `lean/` give the names kernels use over
PyTorch's stable C interface, in one compiler run. What they do not cover is built as PyTorch would, and counted.
Source: issue 4, items 1 and 2; reports P12-P15.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kzlib.records import Candidate, Outcome, content_id
from kzlib.verifier.extension import BadRequest, Extension, checked_flags
from kzlib.verifier.store import Store, StoreBusy
from kzlib.verifier.toolkit import LEAN, Toolkit, ToolMissing, python_include, toolkit

MAX_LINES = 5
LIBRARY = "extension.so"
LAUNCH = "launch.o"
# The runtime's launch functions; lean/kz/launch.cpp stands before each.
_LAUNCHERS = ("__cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC")
# PyTorch's own flags for every CUDA extension.
_NVCC_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__", "--expt-relaxed-constexpr",
)  # fmt: skip
# Names in the sources that need a standard header, and the switch of lean/kz/standard.h that brings it.
_STANDARD = {
    "KZ_STD_VECTOR": r"\bvector\b|IntArrayRef|TensorList|\bvec\(",
    "KZ_STD_STRING": r"\bstd::(string|to_string|runtime_error|invalid_argument|logic_error|out_of_range)|\bstring\b",
    "KZ_STD_OPTIONAL": r"optional|nullopt",
    "KZ_STD_TUPLE": r"\bstd::(tuple|make_tuple|tie|get|array)\b|\b(topk|sort)\(",
    "KZ_STD_STREAM": r"\bstd::(cout|cerr|endl|\w*stringstream)\b",
    "KZ_STD_ALGORITHM": r"\bstd::(?!vector\b|move\b|pair\b)[a-z_]+\s*[(<]|\bstd::(min|max)\b",
    "KZ_STD_FUNCTIONAL": r"\bstd::(function|unique_ptr|shared_ptr|make_unique|make_shared|bind)\b",
    "KZ_STD_CONTAINER": r"\bstd::(map|unordered_map|set|mutex|lock_guard|unordered_set)\b",
    "KZ_HALF_TYPES": r"half|bf16|bfloat|Half|BFloat|_AND|REDUCED|fp16",
}
# Words whose absence is ours to mend: the lean headers may lack them, PyTorch's may have them.
_TORCH_WORDS = re.compile(
    r"torch|\bat::|\bc10|\bkz::|kz_|pybind|\bpy::|\bAT_|\bTORCH_|\bC10_|Tensor|TensorOptions|cannot open source file"
    r"|lean/|ScalarType|IntArrayRef|Scalar"
)


class BuildFailed(RuntimeError):  # noqa: N818 - named for what happened
    """The compiler rejected the candidate. `lines` holds at most five lines, with source names and line numbers."""

    def __init__(self, lines: list[str], lean_lines: list[str] | None = None) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.lean_lines = lean_lines


class BuildTimeout(RuntimeError):  # noqa: N818 - named for what happened
    """The build passed its deadline: `compile_timeout`."""


@dataclass(frozen=True, slots=True)
class Built:
    """A built extension: the library, which headers it needed, seconds spent now (0 from the store)."""

    path: Path
    kind: str  # "lean" | "full"
    seconds: float


def lean_source(extension: Extension) -> str:
    """The one translation unit of a lean build: C++ sources, bindings, CUDA sources, as PyTorch would order them.

    `#line` gives each part its own name and numbering, so that messages speak of the candidate's lines.
    """
    text = "\n".join((*extension.cpp, *extension.cuda))
    switches = ["KZ_STD_CHOSEN", *(name for name, words in _STANDARD.items() if re.search(words, text))]
    parts = [f"#define {name}" for name in switches]
    if extension.implicit_headers:
        parts.append("#include <torch/extension.h>")
    parts += [f'#line 1 "cpp_sources"\n{source}' for source in extension.cpp]
    parts.append(_bindings(extension))
    if extension.cuda:
        if extension.implicit_headers:
            parts.append("#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>")
        parts += [f'#line 1 "cuda_sources"\n{source}' for source in extension.cuda]
    return "\n".join(parts) + "\n"


def _bindings(extension: Extension) -> str:
    if extension.functions is None:
        return ""
    wrap = "torch::wrap_pybind_function({0})" if extension.error_handling else "{0}"
    lines = [f'm.def("{n}", {wrap.format(n)}, {json.dumps(doc)});' for n, doc in extension.functions]
    return '#line 1 "functions"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n' + "\n".join(lines) + "\n}"


class Builder:
    """Builds extensions for one architecture into one store. Thread-safe; builds of different keys run side by side.

    `full` = False leaves the fallback out (machines whose PyTorch has no CUDA cannot link it).
    """

    def __init__(
        self,
        store: Store | None = None,
        arch: str = "90",
        seconds: float = 60.0,
        full_seconds: float = 240.0,
        full: bool | None = None,
    ) -> None:
        self.store = store or Store()
        self.tools: Toolkit = toolkit(arch)
        self.seconds = seconds
        self.full_seconds = full_seconds
        self.full = self.tools.full_headers if full is None else full
        self.counts = {"lean": 0, "full": 0, "failed": 0, "stored": 0}

    def key(self, extension: Extension) -> str:
        """Content address: the request, the tools, the target, our headers, and PyTorch for a full build."""
        return content_id("build", extension.key, self.tools.digest, _torch_version() if self.full else "lean only")

    def stored(self, extension: Extension) -> Built | None:
        """The finished build, if the store has it. Raises `BuildFailed` again for one that failed."""
        entry = self.store.get(self.key(extension))
        return None if entry is None else self._read(entry, 0.0)

    def build(self, extension: Extension) -> Built:
        """The extension's library. `BuildFailed`, `BuildTimeout` or `BadRequest` say why there is none."""
        start = time.monotonic()
        made = False

        def make(folder: Path) -> None:
            nonlocal made
            made = True
            self._make(extension, folder)

        entry = self.store.build(self.key(extension), make, wait=self.seconds + self.full_seconds)
        if not made:
            self.counts["stored"] += 1
        return self._read(entry, time.monotonic() - start if made else 0.0)

    def _read(self, entry: Path, seconds: float) -> Built:
        facts = json.loads((entry / "build.json").read_text())
        if facts["kind"] == "failed":
            raise BuildFailed(facts["lines"], facts.get("lean_lines"))
        return Built(entry / LIBRARY, facts["kind"], seconds)

    def _make(self, extension: Extension, folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        facts = self._attempts(extension, work)
        self.counts[facts["kind"]] += 1
        if facts["kind"] != "failed":
            (work / LIBRARY).rename(folder / LIBRARY)
        shutil.rmtree(work)
        (folder / "build.json").write_text(json.dumps(facts))

    def _attempts(self, extension: Extension, work: Path) -> dict[str, Any]:
        errors = lean_build(extension, work, self.tools, self.seconds, build_glue(self.store, self.tools).parent)
        if errors is None:
            return {"kind": "lean"}
        lean_lines = brief(errors)
        if not (self.full and _TORCH_WORDS.search(_error_lines(errors))):
            return {"kind": "failed", "lines": lean_lines}
        errors = full_build(extension, work, self.tools, self.full_seconds)
        if errors is None:
            return {"kind": "full", "lean_lines": lean_lines}
        return {"kind": "failed", "lines": brief(errors), "lean_lines": lean_lines}


def lean_build(extension: Extension, work: Path, tools: Toolkit, seconds: float, glue: Path) -> str | None:
    """Build `work/extension.so` against the lean headers. None on success, else what the compiler said."""
    source = lean_source(extension)
    errors = _lean_once(extension, source, work, tools, seconds, glue)
    if errors is not None and re.search(r'namespace "std" has no member|identifier "\w+" is undefined', errors):
        everything = re.sub(r"^#define KZ_(STD|HALF).*\n", "", source, flags=re.MULTILINE)
        errors = _lean_once(extension, everything, work, tools, seconds, glue)
    return errors


def _lean_once(extension: Extension, source: str, work: Path, tools: Toolkit, seconds: float, glue: Path) -> str | None:
    (work / "lean.cu").write_text(source)
    flags = checked_flags(extension.cuda_flags)
    flags = [f for f in flags if not f.startswith(("-std=", "--std="))]
    architecture = [] if any("arch" in f or "gencode" in f for f in flags) else target_flags(tools.arch)
    switches = ["-DKZ_DISPATCH_ON_TYPE"] if tools.dispatch_on_type else []
    compile_command = [
        tools.nvcc,
        "-c",
        "lean.cu",
        "-o",
        "lean.o",
        f"-I{LEAN}",
        *_NVCC_FLAGS,
        *switches,
        *architecture,
        f"-std={tools.standard}",
        "-Xcompiler",
        "-fPIC,-fvisibility=hidden,-fno-gnu-unique",
        "-w",
        *flags,
    ]
    errors = run_compiler(compile_command, work, seconds)
    if errors is not None:
        return errors
    libraries = [f for f in checked_flags(extension.ldflags) if f.startswith(("-l", "-L"))]
    link = [
        tools.cxx, "-shared", "lean.o", str(glue / LAUNCH), "-o", LIBRARY, f"-L{tools.library_folder}", *libraries,
        "-l:" + _cudart(tools), *(f"-Wl,--wrap={name}" for name in _LAUNCHERS), "-Wl,-z,defs",
    ]  # fmt: skip
    return run_compiler(link, work, seconds)


def target_flags(arch: str) -> list[str]:
    """Machine code for the device at hand and nothing else.

    >>> target_flags("90")
    ['-gencode=arch=compute_90,code=sm_90']
    """
    return [f"-gencode=arch=compute_{arch},code=sm_{arch}"]


def _cudart(tools: Toolkit) -> str:
    return sorted(p.name for p in Path(tools.library_folder).glob("libcudart.so*"))[0]


def full_build(extension: Extension, work: Path, tools: Toolkit, seconds: float) -> str | None:
    """Build as PyTorch would, in a process of its own, without importing the result. None on success, else the log."""
    capability = (
        f"{tools.arch[:-1]}.{tools.arch[-1]}" if tools.arch.isdigit() else f"{tools.arch[:-2]}.{tools.arch[-2:]}"
    )
    checked_flags((*extension.cflags, *extension.cuda_flags, *extension.ldflags))
    (work / "request.json").write_text(json.dumps(extension.to_json()))
    command = [sys.executable, "-m", "kzlib.verifier.full", str(work), LIBRARY]
    home = str(Path(tools.nvcc).resolve().parents[1])
    root = str(Path(__file__).resolve().parents[2])
    environment = {
        "TORCH_CUDA_ARCH_LIST": capability,
        "MAX_JOBS": "2",
        "CUDA_HOME": os.environ.get("CUDA_HOME", home),
        "PYTHONPATH": root,
    }
    return run_compiler(command, work, seconds, environment)


# KiB of a file (in blocks of 512 bytes), KiB of memory, seconds of processor; set by a shell, because a process with
# threads must not run Python between fork and exec.
_LIMITED = ["/bin/sh", "-c", 'ulimit -c 0; ulimit -f 2097152; ulimit -v 16777216; ulimit -t 600; exec "$@"', "sh"]


def run_compiler(
    command: list[str], work: Path, seconds: float, environment: dict[str, str] | None = None
) -> str | None:
    """Run a compiler in `work`. None on success, else its output; `BuildTimeout` kills the whole process group."""
    search = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '/usr/bin:/bin')}"
    process = subprocess.Popen(
        [*_LIMITED, *command],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={"PATH": search, "HOME": str(work), "TMPDIR": str(work), "LC_ALL": "C", **(environment or {})},
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise BuildTimeout(f"the compiler was still running after {seconds:.0f} s") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return None if process.returncode == 0 else output.decode(errors="replace")


def _error_lines(output: str) -> str:
    return "\n".join(line for line in output.splitlines() if re.search(r"error|undefined|cannot", line))


def brief(output: str) -> list[str]:
    """At most five lines of a compiler's output, errors first, without folders.

    >>> brief("x.cu: note\\n/tmp/w/cuda_sources(3): error: expected a ';'\\n1 error detected")
    ["cuda_sources(3): error: expected a ';'"]
    """
    lines = [re.sub(r"(?<![\w.])/\S*/", "", line.strip()) for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r"\berror\b|undefined (symbol|reference)|fatal", line)]
    errors = [line for line in errors if not re.match(r"\d+ errors? detected|collect2:", line)]
    return [line[:300] for line in (errors or lines)[:MAX_LINES]]


def build_glue(store: Store, tools: Toolkit) -> Path:
    """The Python module that loads lean extensions, with the launch counter beside it; built once a machine."""
    sources = [LEAN / "kz" / "glue.cpp", LEAN / "kz" / "launch.cpp"]
    key = content_id("glue", *(s.read_text() for s in sources), tools.version, sys.version, tools.digest)

    def make(folder: Path) -> None:
        common = ["-O2", "-std=c++17", "-fPIC"]
        headers = [f"-I{tools.cuda_include}", f"-I{python_include()}"]
        commands = [
            [tools.cxx, *common, "-shared", *headers, str(sources[0]), "-o", "kz_glue.so"],
            [tools.cxx, *common, "-fvisibility=hidden", "-c", *headers, str(sources[1]), "-o", LAUNCH],
        ]  # fmt: skip
        for command in commands:
            errors = run_compiler(command, folder, 120)
            if errors is not None:
                raise RuntimeError(f"the loader of lean extensions did not compile: {brief(errors)[0]}")

    return store.build(key, make) / "kz_glue.so"


def _torch_version() -> str:
    import torch

    return str(torch.__version__)


def compile_check(candidate: Candidate, builder: Builder | None = None) -> tuple[Outcome, str, str] | None:
    """Does a CUDA candidate's code compile? None if it does; else outcome, stage and message.

    For machines without a GPU: extensions readable from the syntax tree are built, nothing is run.
    """
    from kzlib.verifier.intercept import find, own_lines

    found = find(candidate.source)
    try:
        compile(candidate.source, "candidate.py", "exec")
    except (SyntaxError, ValueError) as error:
        return Outcome.COMPILE_FAIL, "build", f"{type(error).__name__}: {error}"
    try:
        builder = builder or Builder()
    except ToolMissing as error:
        return Outcome.INFRA, "build", str(error)
    for extension in found.extensions:
        try:
            builder.build(extension)
        except BuildFailed as error:
            return Outcome.COMPILE_FAIL, "build", "\n".join(own_lines(error.lines, found.lines[extension.key]))
        except BadRequest as error:
            return Outcome.COMPILE_FAIL, "build", str(error)
        except BuildTimeout as error:
            return Outcome.COMPILE_TIMEOUT, "build", str(error)
        except (StoreBusy, OSError) as error:
            return Outcome.INFRA, "build", f"the build store failed: {error}"
    return None


__all__ = ["BadRequest", "BuildFailed", "BuildTimeout", "Builder", "Built", "Extension", "build_glue", "compile_check"]
