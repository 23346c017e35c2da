"""How fast is the verifier? One run, one table: `python benchmarks/verifier.py [--kernelbench PATH] [--csv FILE]`.

Sections: `floor` (fresh CUDA contexts and lean builds a second: what nothing here can beat), `triton`, `cuda`, `nvrtc`
(small tasks, every candidate another source, cold and again), `real` (KernelBench tasks at full size), `kernelbench`
(the same candidates through the checkout's own `eval_kernel_against_ref`), `aa` (reference against itself). Without
a GPU only `interpreter` runs. Results go to `benchmarks/results/` as CSV with device, versions and date.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from kzlib.records import Candidate, Task, Verdict  # noqa: E402

KERNELS = Path(__file__).parent / "kernels"
RELU = """import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x * {scale})
def get_inputs(): return [torch.randn(64, 1024)]
def get_init_inputs(): return []
"""


class Busy:
    """Samples how busy the GPU is while a section runs, five times a second."""

    def __enter__(self) -> Busy:
        self.samples: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        import torch

        while not self._stop.wait(0.2):
            try:
                self.samples.append(float(torch.cuda.utilization()))
            except Exception:  # noqa: BLE001 - no management library: no figure
                return

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def share(self) -> float | str:
        return round(statistics.mean(self.samples) / 100, 3) if self.samples else ""


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(
    section: str, system: str, seconds: float, each: list[float], good: int, busy: Any = "", **more: Any
) -> dict[str, Any]:
    """One line of the table. `each` are seconds a kernel, `good` how many ended as they should."""
    count = len(each)
    return {
        "section": section,
        "system": system,
        "kernels": count,
        "as_expected": good,
        "seconds": round(seconds, 2),
        "a_second": round(count / seconds, 3) if seconds else "",
        "per_hour_per_gpu": round(3600 * count / seconds) if seconds else "",
        "median_s": round(statistics.median(each), 3) if each else "",
        "p95_s": round(percentile(each, 0.95), 3) if each else "",
        "gpu_busy": busy,
        "note": "; ".join(f"{k}={v}" for k, v in more.items()),
    }


def judge(
    verifier: Any,
    section: str,
    tasks: Iterable[Task],
    candidates: list[Candidate],
    expect: str,
    protocol: str = "strict",
) -> list[Any]:
    """Judge candidates; returns the row and the verdicts."""
    start = time.monotonic()
    with Busy() as busy:
        verdicts: list[Verdict] = list(verifier.verify(tasks, candidates, protocol=protocol))
    seconds = time.monotonic() - start
    good = sum(v.outcome == expect for v in verdicts)
    stages: dict[str, list[float]] = {}
    for verdict in verdicts:
        for name, value in verdict.seconds.items():
            stages.setdefault(name, []).append(value)
    shares = {name: round(statistics.median(v), 3) for name, v in sorted(stages.items()) if name != "total"}
    line = row(section, "kzlib", seconds, [v.seconds["total"] for v in verdicts], good, busy.share, **shares)
    print(line, flush=True)
    for verdict in verdicts:
        if verdict.outcome != expect:
            print(f"  {section}: {verdict.outcome} at {verdict.stage}: {verdict.message[:160]!r}", flush=True)
    return [line, verdicts]


def small(name: str, count: int, per_task: int) -> tuple[list[Task], list[Candidate]]:
    """`count` small candidates, each another source: kernels/<name>.py.txt with a number written in."""
    text = (KERNELS / f"{name}.py.txt").read_text()
    backend = "triton" if name.startswith("triton") else "cuda"
    tasks, candidates = [], []
    for index in range(count):
        if index % per_task == 0:
            tasks.append(Task(RELU.format(scale=f"{1 + index / 1000:.4f}"), origin="benchmark"))
        source = text.replace("@SCALE@", f"{1 + (index - index % per_task) / 1000:.4f}").replace("@NUMBER@", str(index))
        candidates.append(Candidate(tasks[-1].id, backend, source))  # type: ignore[arg-type]
    return tasks, candidates


def floors(verifier: Any) -> list[dict[str, Any]]:
    """Fresh contexts a second, and lean builds a second, with nothing else going on."""
    rows = []

    def context(_: int) -> float:
        start = time.perf_counter()
        with verifier.server().fork("kzlib.verifier.gpu_child:context_main") as child:
            child.send({})
            child.receive(60.0)
        return time.perf_counter() - start

    for workers in (1, 4, 12):
        start = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            each = list(pool.map(context, range(2 * workers + 4)))
        rows.append(row("floor", f"fresh contexts, {workers} at once", time.monotonic() - start, each, len(each)))
        print(rows[-1], flush=True)
    return rows


def builds(count: int, workers: int) -> dict[str, Any]:
    """Lean builds of `count` different sources into an empty store."""
    from kzlib.verifier.build import Builder
    from kzlib.verifier.intercept import find
    from kzlib.verifier.store import Store

    _, candidates = small("cuda_relu", count, 1)
    extensions = [find(c.source).extensions[0] for c in candidates]
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(Store(folder))
        builder.build(find(candidates[0].source.replace("relu_kernel", "warm_kernel")).extensions[0])
        start = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            each = [b.seconds for b in pool.map(builder.build, extensions)]
        line = row(
            "floor", f"lean builds, {workers} at once", time.monotonic() - start, each, builder.counts["lean"] - 1
        )
    print(line, flush=True)
    return line


def real_tasks(checkout: Path, names: list[str]) -> tuple[list[Task], list[Candidate]]:
    """KernelBench tasks and right candidates for them: ours by name in kernels/real/, else the teacher's."""
    from kzlib.tasks import load_tasks

    tasks, candidates = [], []
    for level in (1, 2):
        for task in load_tasks(f"kernelbench:{checkout}:level{level}"):
            file = KERNELS / "real" / f"level{level}_{Path(task.origin).stem}.py"
            if file.exists() and (not names or any(n in file.stem for n in names)):
                tasks.append(task)
                backend = "cuda" if "load_inline" in file.read_text() else "triton"
                candidates.append(Candidate(task.id, backend, file.read_text()))  # type: ignore[arg-type]
    return tasks, candidates


_KERNELBENCH = r"""
import json, sys, time, types
from pathlib import Path
root, folder = Path(sys.argv[1]), Path(sys.argv[2])
package = types.ModuleType("kernelbench"); package.__path__ = [str(root / "src" / "kernelbench")]
sys.modules["kernelbench"] = package  # its __init__ needs model clients; the evaluator does not
from kernelbench import eval as evaluator
import torch
torch.zeros(1, device="cuda")
for line in (folder / "jobs.jsonl").read_text().splitlines():
    job = json.loads(line)
    start = time.perf_counter()
    result = evaluator.eval_kernel_against_ref(job["task"], job["candidate"], num_correct_trials=5, num_perf_trials=100,
        measure_performance=True, build_dir=str(folder / job["id"]), device=torch.device("cuda:0"),
        backend=job["backend"])
    print(json.dumps({"id": job["id"], "seconds": time.perf_counter() - start,
        "correct": bool(result and result.correctness),
        "runtime": getattr(result, "runtime", None)}), flush=True)
"""


def kernelbench(checkout: Path, tasks: list[Task], candidates: list[Candidate], limit: float) -> dict[str, Any]:
    """The same candidates through the checkout's evaluator, one after another in one warm process."""
    sources = {task.id: task.source for task in tasks}
    with tempfile.TemporaryDirectory() as folder:
        jobs = [
            {"id": c.id, "task": sources[c.task_id], "candidate": c.source, "backend": c.backend} for c in candidates
        ]
        (Path(folder) / "jobs.jsonl").write_text("\n".join(map(json.dumps, jobs)))
        start = time.monotonic()
        with Busy() as busy:
            process = subprocess.Popen(
                [sys.executable, "-c", _KERNELBENCH, str(checkout), folder],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                output, errors = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                output, errors = process.communicate()
        rows = [json.loads(text) for text in output.splitlines() if text.startswith('{"id"')]
        if not rows:
            print("  kernelbench:", errors[-400:], flush=True)
        each = [r["seconds"] for r in rows]
        line = row("kernelbench", "KernelBench checkout", sum(each), each, sum(r["correct"] for r in rows), busy.share,
                   wall=round(time.monotonic() - start, 1), asked=len(jobs))  # fmt: skip
    print(line, flush=True)
    return line


def against_itself(verifier: Any, tasks: list[Task], pairs: int) -> dict[str, Any]:
    """Reference as its own candidate: how often would it look faster than 1.05x or slower than 0.95x?"""
    from kzlib.verifier.gpu import self_candidate

    per_task = max(1, pairs // len(tasks))
    candidates = []
    for task in tasks:
        source = self_candidate(task).source
        candidates += [Candidate(task.id, "triton", f"{source}\n# copy {n}\n") for n in range(per_task)]
    line, verdicts = judge(verifier, "aa", tasks, candidates, "pass", protocol="keck")
    timed = [v.timing for v in verdicts if v.timing is not None]
    off = [t.speedup for t in timed if not 0.95 <= t.speedup <= 1.05]
    bound = [t.speedup for t in timed if t.launch_bound and not 0.95 <= t.speedup <= 1.05]
    line["note"] += f"; outside_5_percent={len(off)} of {len(timed)}; of these launch bound={len(bound)}"
    print(line["note"], [round(s, 3) for s in off], flush=True)
    return line


def facts(device: str) -> dict[str, str]:
    import torch
    import triton

    return {
        "device": device,
        "torch": torch.__version__,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "cores": str(len(__import__("os").sched_getaffinity(0))),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernelbench", type=Path, help="a KernelBench checkout")
    parser.add_argument("--sections", default="floor,triton,cuda,nvrtc,real,aa,kernelbench")
    parser.add_argument("--count", type=int, default=48, help="small candidates a section")
    parser.add_argument(
        "--per-task", type=int, default=8, help="small candidates that share a task, as a group in RL does"
    )
    parser.add_argument("--tasks", default="", help="comma-separated parts of names of real tasks; all without it")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds the checkout's evaluator may take")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name(0) if gpu else f"CPU, {platform.machine()}"
    out = arguments.csv or ROOT / "benchmarks" / "results" / f"verifier-{'gpu' if gpu else 'cpu'}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    known = facts(name)

    def save(rows: list[dict[str, Any]]) -> None:
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0], *known])
            writer.writeheader()
            writer.writerows({**line, **known} for line in rows)

    run_sections(arguments, gpu, save)
    print("written:", out.name)


def run_sections(arguments: argparse.Namespace, gpu: bool, save: Callable[[list[dict[str, Any]]], None]) -> None:
    """Every section asked for; one that fails says so and the next still runs."""
    from kzlib.verifier import Verifier

    rows: list[dict[str, Any]] = []
    wanted = arguments.sections.split(",") if gpu else ["interpreter"]
    names = [n for n in arguments.tasks.split(",") if n]
    real = real_tasks(arguments.kernelbench, names) if arguments.kernelbench else ([], [])

    def step(section: str, work: Callable[[], Any]) -> None:
        if section not in wanted:
            return
        try:
            made = work()
            rows.extend(made if isinstance(made, list) else [made])
            save(rows)
        except Exception as error:  # noqa: BLE001 - a table with a hole is better than none
            print(f"{section} failed: {type(error).__name__}: {error}", flush=True)

    with Verifier(device="auto", workers=arguments.workers) as verifier:
        verifier.server()

        def group(section: str, kind: str) -> list[dict[str, Any]]:
            tasks, candidates = small(kind, arguments.count, arguments.per_task)
            lines = [judge(verifier, f"{section}, cold", tasks, candidates, "pass")[0]]
            if gpu:
                lines.append(judge(verifier, f"{section}, again", tasks, candidates, "pass")[0])
            return lines

        step("interpreter", lambda: group("interpreter", "triton_relu"))
        step("floor", lambda: [*floors(verifier), builds(arguments.count, arguments.workers or 12)])
        step("triton", lambda: group("triton", "triton_relu"))
        step("cuda", lambda: group("cuda", "cuda_relu"))
        step("nvrtc", lambda: group("nvrtc", "nvrtc_relu"))
        step("real", lambda: judge(verifier, "real", *real, "pass")[0])
        step("aa", lambda: against_itself(verifier, real[0] or small("triton_relu", 8, 1)[0], arguments.pairs))
    step(
        "kernelbench",
        lambda: kernelbench(arguments.kernelbench, *real, arguments.limit) if arguments.kernelbench else [],
    )


if __name__ == "__main__":
    main()
