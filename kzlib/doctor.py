"""What this machine has, what is missing, and what to type: `kz doctor` and notebook 00 show the same findings.

Nothing heavy is imported and nothing is trained, so it answers in seconds, with or without a GPU.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from kzlib.environment import ROOT, cpu_name, gpus, versions

NEEDED_PACKAGES = ("torch", "triton", "transformers", "trl", "datasets", "papermill", "ipykernel")
FOR_LAB = ("jupyterlab", "ipywidgets")  # batch runs do without
FREE_DISK_GIB = 5
MEMORY_GIB = 6


@dataclass(frozen=True)
class Finding:
    """One line of the report. `needed`: the CPU profiles cannot do without; `remedy`: what to type when not `ok`."""

    name: str
    ok: bool
    found: str
    needed: bool = True
    remedy: str = ""


def examine() -> list[Finding]:
    """All findings, the needed ones first.

    >>> [finding.name for finding in examine()][:2]
    ['Python', 'torch']
    """
    findings = [_python(), *_packages(), _kernel(), _cpu(), _memory(), _disk(), _sandbox(), _compiler(), *_gpu_track()]
    return sorted(findings, key=lambda finding: not finding.needed)


TOY_KERNEL = """\
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)
"""

_TOY_PROGRAM = f"""\
import torch, triton, triton.language as tl
{TOY_KERNEL}
device = "cuda" if torch.cuda.is_available() else "cpu"
x, y = torch.randn(1000, device=device), torch.randn(1000, device=device)
out = torch.full_like(x, float("nan"))
add[(triton.cdiv(1000, 256),)](x, y, out, 1000, BLOCK=256)
print(f"{{(out - (x + y)).abs().max().item():g}} {{device}}")
"""


def try_triton() -> Finding:
    """Run the toy kernel in a child process: on the GPU if there is one, else in Triton's interpreter."""
    environment = dict(os.environ)
    where = "on the GPU"
    if not gpus():
        environment["TRITON_INTERPRET"] = "1"
        where = "in Triton's interpreter"
    with tempfile.TemporaryDirectory() as folder:  # Triton reads a kernel's text from its file
        program = Path(folder) / "toy.py"
        program.write_text(_TOY_PROGRAM, encoding="utf-8")
        command = [sys.executable, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return Finding("Triton", False, lines[-1], remedy="make install")
    error = float(done.stdout.split()[0])
    return Finding("Triton", error == 0, f"largest difference {error:g}, 1000 sums {where}", remedy="make install")


def table(findings: list[Finding]) -> str:
    """The findings as aligned text, each missing one followed by what to type."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        mark = "ok     " if finding.ok else "MISSING" if finding.needed else "absent "
        lines.append(f"{mark}  {finding.name:{width}}  {finding.found}")
        if not finding.ok and finding.remedy:
            lines.append(f"{'':9}{'':{width}}  -> {finding.remedy}")
    missing = [finding.name for finding in findings if finding.needed and not finding.ok]
    lines.append("")
    lines.append(f"missing: {', '.join(missing)}" if missing else _ready(findings))
    return "\n".join(lines)


def _ready(findings: list[Finding]) -> str:
    """Which profiles can be run, and what to type."""
    gpu = any(finding.name == "GPU" and finding.ok for finding in findings)
    if gpu:
        return "ready for the profiles smoke, laptop and gpu; next: make run PROFILE=gpu, or make lab"
    return "ready for the profiles smoke and laptop; next: make run, or make lab"


def as_json(findings: list[Finding]) -> list[dict[str, Any]]:
    """The findings as plain values, for a run's files."""
    return [asdict(finding) for finding in findings]


def _python() -> Finding:
    version = sys.version_info
    ok = (3, 11) <= version[:2] <= (3, 13)
    return Finding("Python", ok, ".".join(map(str, version[:3])), remedy="make run PYTHON=python3.12")


def _packages() -> list[Finding]:
    """The packages that matter most, and any other of the project's that is not there or of a version not tried."""
    ranges = _ranges()
    found = versions(tuple(dict.fromkeys([*NEEDED_PACKAGES, *FOR_LAB, *ranges])))
    findings = []
    for name in dict.fromkeys([*NEEDED_PACKAGES, *FOR_LAB, *ranges]):
        wanted = ranges.get(name, SpecifierSet())
        ok = name in found and wanted.contains(found[name], prereleases=True)
        if ok and name not in (*NEEDED_PACKAGES, *FOR_LAB):
            continue
        text = found.get(name, "not installed") + ("" if ok or not wanted else f", needs {wanted}")
        findings.append(Finding(name, ok, text, needed=name not in FOR_LAB, remedy="make install"))
    return findings


def _ranges() -> dict[str, SpecifierSet]:
    """The versions that the project's metadata allow, by package; {} where it was not installed as a package."""
    try:
        lines = importlib.metadata.requires("kernelzero") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    wanted = [Requirement(line) for line in lines]
    return {one.name: one.specifier for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}


def _kernel() -> Finding:
    """Whether notebooks of this environment start a kernel of this environment."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        spec = KernelSpecManager().get_kernel_spec("python3")
    except NoSuchKernel:
        return Finding("kernel python3", False, "not found", remedy="make install")
    program = shutil.which(spec.argv[0]) or spec.argv[0]
    if Path(spec.argv[0]).name.startswith("python") and not Path(spec.argv[0]).is_absolute():
        program = sys.executable  # the kernel manager replaces a bare "python" by the running one
    ours = Path(program).parent.samefile(Path(sys.executable).parent) if Path(program).exists() else False
    found = "starts this environment's Python" if ours else "starts another Python"
    return Finding("kernel python3", ours, found, remedy="python -m ipykernel install --sys-prefix --name python3")


def _cpu() -> Finding:
    cores = cores_allowed()
    remedy = "two cores are what the time budgets assume; with one, expect twice the time"
    return Finding("cores", cores >= 1.9, f"{cores:g} ({cpu_name()})", needed=False, remedy=remedy)


def _memory() -> Finding:
    total, free = memory_gib()
    return Finding(
        "memory", total >= MEMORY_GIB, f"{total:.1f} GiB, {free:.1f} free", remedy="kz run --profile smoke needs 3 GiB"
    )


def _disk() -> Finding:
    folder = Path(os.environ.get("KZ_OUTPUT_ROOT") or ROOT / "outputs")
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free / 2**30
    writable = os.access(existing, os.W_OK)
    found = f"{free:.0f} GiB free for outputs" + ("" if writable else ", not writable")
    remedy = f"free {FREE_DISK_GIB} GiB or set KZ_OUTPUT_ROOT to a folder that you may write"
    return Finding("disk", writable and free >= FREE_DISK_GIB, found, remedy=remedy)


def _sandbox() -> Finding:
    """Generated kernels are judged in children; name spaces make these stricter where the system allows them."""
    unshare = shutil.which("unshare")
    works = bool(unshare) and _quiet([str(unshare), "--user", "--net", "--map-root-user", "true"])
    found = "user and network name spaces" if works else "resource limits only"
    remedy = "kernels are then judged without a network fence: do not run models of others on this machine"
    return Finding("sandbox", works, found, needed=False, remedy=remedy)


def _compiler() -> Finding:
    found = [name for name in ("g++", "ninja") if _tool(name)]
    remedy = "install g++ (apt install g++); only the CUDA track needs it"
    return Finding("C++ tools", len(found) == 2, ", ".join(found) or "none", needed=False, remedy=remedy)


def _gpu_track() -> list[Finding]:
    cards = gpus()
    names = ", ".join(f"{card['name']} ({card['memory']}, driver {card['driver']})" for card in cards)
    nvcc = _nvcc()
    track = "Triton goes on without it; the CUDA track is off"
    return [
        Finding("GPU", bool(cards), names or "none", needed=False, remedy="smoke and laptop need none"),
        Finding(
            "nvcc", bool(nvcc), nvcc or "not found", needed=False, remedy=f"set CUDA_HOME, or install nvcc; {track}"
        ),
    ]


def _nvcc() -> str:
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    program = _tool("nvcc") or str(Path(home) / "bin" / "nvcc")
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next((line.strip() for line in done.stdout.splitlines() if "release" in line), "")


def _tool(name: str) -> str | None:
    """A program on the PATH or in this environment's own folder, where a notebook server may not look."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def _quiet(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def cores_allowed() -> float:
    """Cores that this process may use: those it may run on, within a container's share of time where there is one.

    >>> cores_allowed() > 0
    True
    """
    cores = float(len(os.sched_getaffinity(0)))
    quota = Path("/sys/fs/cgroup/cpu.max")
    if quota.exists() and (parts := quota.read_text(encoding="utf-8").split())[0].isdigit():
        cores = min(cores, round(int(parts[0]) / int(parts[1]), 1))
    return cores


def memory_gib() -> tuple[float, float]:
    """Total and available memory in GiB, within a container's limit where there is one.

    >>> total, free = memory_gib()
    >>> total >= free > 0
    True
    """
    lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    facts = {line.split(":")[0]: int(line.split()[1]) / 2**20 for line in lines}
    total, free = facts["MemTotal"], facts["MemAvailable"]
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.exists() and (text := limit.read_text(encoding="utf-8").strip()).isdigit():
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="utf-8")) / 2**30
        total = min(total, int(text) / 2**30)
        free = max(min(free, total - used), 0.01)
    return total, free
