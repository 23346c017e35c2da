"""How fast is the verifier? One table: `python benchmarks/verifier.py --sections triton,nvrtc [--kernelbench PATH]`.

Sections: `floor` (fresh CUDA contexts, warm children and lean builds a second: what nothing here can beat), `triton`,
`cuda`, `nvrtc` (small tasks, every candidate another source, cold and again), `real` (KernelBench tasks at full size,
the teacher's kernels), `kernelbench` (the same candidates through the checkout's own `eval_kernel_against_ref`), `aa`
(reference against itself, timed), `self` (reference as its own candidate, strict), `zeros` (a kernel of zeros on
every task of levels 1 and 2). Each stops after `--seconds`. Without a GPU only `interpreter` runs (the small kernel
over 65,536 elements, and the teacher's kernels for small modules), and `zeros` on tasks shrunk for it. Rows go to
`benchmarks/results/` as CSV with device, versions and date; a section that is run again replaces its rows.
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
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import candidates as benchmark_candidates  # noqa: E402
from kzlib.records import Candidate, Task, Verdict  # noqa: E402

SLOW = 8.0  # seconds of a verdict from which on it is shown by itself


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
    section: str, system: str, seconds: float, each: list[float], good: int, busy: Any = "", /, **more: Any
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
    verifier: Any, section: str, tasks: Iterable[Task], candidates: list[Candidate], expect: str,
    protocol: str = "strict", limit: float = 1e9,
) -> list[Any]:  # fmt: skip
    """Judge candidates for at most `limit` seconds; returns the row and the verdicts."""
    start = time.monotonic()
    verdicts: list[Verdict] = []
    with Busy() as busy:
        for verdict in verifier.verify(tasks, candidates, protocol=protocol):
            verdicts.append(verdict)
            if verdict.seconds["total"] > SLOW or len(verdicts) % 25 == 0:
                print(
                    f"  {section}: {len(verdicts)} after {time.monotonic() - start:.0f} s; {verdict.seconds}",
                    flush=True,
                )
            if verdict.outcome != expect:
                print(f"  {section}: {verdict.outcome} at {verdict.stage}: {verdict.message[:160]!r}", flush=True)
            if time.monotonic() - start > limit:
                break
    seconds = time.monotonic() - start
    good = sum(v.outcome == expect for v in verdicts)
    stages: dict[str, list[float]] = {}
    for verdict in verdicts:
        for name, value in verdict.seconds.items():
            stages.setdefault(name, []).append(value)
    shares = {
        name: f"{statistics.median(v):.3f}/{percentile(v, 0.95):.3f}"
        for name, v in sorted(stages.items())
        if name != "total"
    }
    own = [v.seconds["total"] - v.seconds.get("memory_wait", 0) - v.seconds.get("time_wait", 0) for v in verdicts]
    if own:
        shares["without_waiting"] = f"{statistics.median(own):.3f}/{percentile(own, 0.95):.3f}"
    if len(verdicts) < len(candidates):
        shares["asked"] = str(len(candidates))
    line = row(section, "kzlib", seconds, [v.seconds["total"] for v in verdicts], good, busy.share, **shares)
    print(line, flush=True)
    return [line, verdicts]


def floors(verifier: Any) -> list[dict[str, Any]]:
    """Fresh contexts a second, piece by piece, and children of the stock a second, with nothing else going on."""
    rows = []

    def context(_: int) -> tuple[float, dict[str, Any]]:
        start = time.perf_counter()
        with verifier.server().fork("kzlib.verifier.gpu_child:context_main") as child:
            forked = time.perf_counter() - start
            child.send({})
            answer = child.receive(60.0)
            if answer.get("event") != "context":
                raise RuntimeError(f"no context could be made: {answer.get('message')}")
            begun = time.perf_counter()
        return time.perf_counter() - start, {**answer, "fork": forked, "end": time.perf_counter() - begun}

    for workers in (1, 4, 8, 12):
        start = time.monotonic()
        with ThreadPoolExecutor(workers) as pool:
            each = list(pool.map(context, range(2 * workers + 4)))
        pieces = ("fork", "driver", "context", "torch", "first_kernels", "clock", "end", "user", "system")
        parts = {name: f"{statistics.median(a[name] for _, a in each):.3f}" for name in pieces if name in each[0][1]}
        rows.append(row("floor", f"fresh contexts, {workers} at once", time.monotonic() - start,
                        [s for s, _ in each], len(each), **parts))  # fmt: skip
        print(rows[-1], flush=True)
    return [*rows, stock(verifier, 36)]


def stock(verifier: Any, count: int) -> dict[str, Any]:
    """Warm children taken from the stock and ended, as fast as they come."""
    kept, each = verifier.judge.stock, []
    kept.expect(count)
    start = time.monotonic()
    for _ in range(count):
        begun = time.perf_counter()
        kept.expect(-1)
        kept.retire(kept.take())
        each.append(time.perf_counter() - begun)
    line = row("floor", "warm children, one after another", time.monotonic() - start, each, len(each))
    print(line, flush=True)
    return line


def builds(count: int, workers: int) -> dict[str, Any]:
    """Lean builds of `count` different sources into an empty store."""
    from kzlib.verifier.build import Builder
    from kzlib.verifier.intercept import find
    from kzlib.verifier.store import Store

    _, candidates = benchmark_candidates.small("cuda_relu", count, 1)
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


_KERNELBENCH = r"""
import json, sys, time, types
from pathlib import Path
root, folder = Path(sys.argv[1]), Path(sys.argv[2])
package = types.ModuleType("kernelbench"); package.__path__ = [str(root / "src" / "kernelbench")]
sys.modules["kernelbench"] = package  # its __init__ needs model clients; the evaluator does not
CLIENTS = {"datasets": "load_dataset Dataset", "requests": "", "dotenv": "load_dotenv", "openai": "OpenAI",
           "litellm": "completion", "tqdm": "tqdm"}  # asked for at import, not by the evaluator
for name, members in CLIENTS.items():
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
        for member in members.split():
            setattr(sys.modules[name], member, lambda *_, **__: None)
from kernelbench import eval as evaluator
import torch
torch.zeros(1, device="cuda")
for line in (folder / "jobs.jsonl").read_text().splitlines():
    job = json.loads(line)
    start, result, error = time.perf_counter(), None, ""
    try:
        result = evaluator.eval_kernel_against_ref(job["task"], job["candidate"], num_correct_trials=5,
            num_perf_trials=100, measure_performance=True, build_dir=str(folder / job["id"]),
            device=torch.device("cuda:0"), backend=job["backend"])
    except Exception as failed:
        error = f"{type(failed).__name__}: {failed}"[:160]
    torch.cuda.empty_cache()
    print("\n" + json.dumps({"id": job["id"], "seconds": time.perf_counter() - start, "error": error,
        "correct": bool(result and result.correctness), "runtime": getattr(result, "runtime", None)}), flush=True)
"""


def kernelbench(
    checkout: Path, tasks: list[Task], candidates: list[Candidate], limit: float, out: Path
) -> dict[str, Any]:
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
    print(line, *(r["error"] for r in rows if r["error"]), sep="\n  ", flush=True)
    names = {c.id: task_name(tasks, c.task_id) for c in candidates}
    rows = [[names[r["id"]], round(r["seconds"], 3), r["correct"], r["runtime"], r["error"]] for r in rows]
    each_task(out, ["task", "seconds", "correct", "runtime_ms", "error"], rows)
    return line


def task_name(tasks: list[Task], task_id: str) -> str:
    """Level and file name of a task."""
    return next("/".join(Path(t.origin).parts[-2:]) for t in tasks if t.id == task_id)


def each_task(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    """A table with a line a task beside the summary."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(sorted(rows, key=lambda line: str(line[0])))


def real(verifier: Any, tasks: list[Task], candidates: list[Candidate], limit: float, out: Path) -> dict[str, Any]:
    """Real tasks at full size, with the teacher's kernels."""
    line, verdicts = judge(verifier, "real", tasks, candidates, "pass", limit=limit)
    each_task(
        out, ["task", "outcome", "seconds", "speedup", "reserved_gib", "message"],
        [[task_name(tasks, v.task_id), v.outcome, round(v.seconds["total"], 3), v.timing.speedup if v.timing else "",
          v.evidence.get("reserved_gib", ""), v.message[:160]] for v in verdicts],
    )  # fmt: skip
    return line


def against_itself(verifier: Any, tasks: list[Task], pairs: int, limit: float, out: Path) -> dict[str, Any]:
    """Reference as its own candidate: how often would it look faster than 1.05x or slower than 0.95x?"""
    candidates = benchmark_candidates.copies(tasks, max(1, pairs // len(tasks)))
    line, verdicts = judge(verifier, "aa", tasks, candidates, "pass", protocol="keck", limit=limit)
    timed = [v.timing for v in verdicts if v.timing is not None]
    each_task(out, ["task", "speedup", "launch_bound", "candidate_us", "spread", "n"],
              [[task_name(tasks, v.task_id), v.timing.speedup, v.timing.launch_bound, v.timing.candidate_us,
                v.timing.spread, v.timing.n] for v in verdicts if v.timing is not None])  # fmt: skip
    off = [t.speedup for t in timed if not 0.95 <= t.speedup <= 1.05]
    bound = [t.speedup for t in timed if t.launch_bound and not 0.95 <= t.speedup <= 1.05]
    line["note"] += f"; outside_5_percent={len(off)} of {len(timed)}; of these launch bound={len(bound)}"
    line["note"] += f"; launch bound={sum(t.launch_bound for t in timed)}"
    print(line["note"], [round(s, 3) for s in off], flush=True)
    return line


def as_candidate(verifier: Any, tasks: list[Task], limit: float) -> dict[str, Any]:
    """The reference judged as its own candidate 20 times by `strict`: it has no kernel of its own, no more."""
    candidates = benchmark_candidates.copies(tasks, max(1, 20 // len(tasks)))
    line, verdicts = judge(verifier, "self", tasks, candidates, "library_only", limit=limit)
    line["note"] += "; " + "; ".join(f"{k}={n}" for k, n in Counter(str(v.outcome) for v in verdicts).items())
    return line


def zeros(verifier: Any, checkout: Path, limit: float, out: Path) -> dict[str, Any]:
    """A kernel that writes zeros, on every task of levels 1 and 2: none may pass."""
    tasks, candidates = benchmark_candidates.zeros(checkout, verifier.device == "cpu")
    line, verdicts = judge(verifier, "zeros", tasks, candidates, "wrong", limit=limit)
    counts = Counter(str(v.outcome) for v in verdicts)
    line["note"] = f"passed={counts.pop('pass', 0)}; " + "; ".join(f"{k}={n}" for k, n in counts.items())
    each_task(
        out, ["task", "outcome", "gate", "message"],
        [[task_name(tasks, v.task_id), v.outcome, v.evidence.get("gate", ""), v.message[:160]] for v in verdicts],
    )  # fmt: skip
    print(line["note"], flush=True)
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


def save(out: Path, rows: list[dict[str, Any]], known: dict[str, str]) -> None:
    """Write rows; those of the same section and system that stood in the file before are replaced."""
    fields = [*(name for name in row("", "", 0, [], 0)), *known]
    before = list(csv.DictReader(out.open())) if out.exists() else []
    sections = {line["section"].partition(",")[0] for line in rows}
    kept = [line for line in before if line["section"].partition(",")[0] not in sections]
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore")
        writer.writeheader()
        writer.writerows([*kept, *({**line, **known} for line in rows)])


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernelbench", type=Path, help="a KernelBench checkout")
    parser.add_argument("--sections", default="floor,triton,cuda,nvrtc,real,aa,self,zeros,kernelbench")
    parser.add_argument("--seconds", type=float, default=200.0, help="a section stops after so long")
    parser.add_argument("--count", type=int, default=96, help="small candidates a section")
    parser.add_argument(
        "--per-task", type=int, default=8, help="small candidates that share a task, as a group in RL does"
    )
    parser.add_argument("--tasks", default="", help="comma-separated parts of names of real tasks; all without it")
    parser.add_argument("--real", type=int, default=40, help="real tasks at most, spread over both levels")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    gpu = torch.cuda.is_available()
    name = torch.cuda.get_device_name(0) if gpu else f"CPU, {platform.machine()}"
    out = arguments.csv or ROOT / "benchmarks" / "results" / f"verifier-{'gpu' if gpu else 'cpu'}.csv"
    out.parent.mkdir(parents=True, exist_ok=True)
    run_sections(arguments, gpu, out, facts(name))
    print("written:", out.name)


def run_sections(arguments: argparse.Namespace, gpu: bool, out: Path, known: dict[str, str]) -> None:
    """Every section asked for; one that fails says so and the next still runs."""
    from kzlib.tasks import load_tasks
    from kzlib.verifier import Verifier

    names, limit, checkout = [n for n in arguments.tasks.split(",") if n], arguments.seconds, arguments.kernelbench
    wanted = arguments.sections.split(",")
    if not gpu:
        wanted = ["interpreter", *(["zeros"] if checkout and "zeros" in wanted else [])]
    needs_real = checkout is not None and {"real", "aa", "self", "kernelbench"} & set(wanted)
    full = benchmark_candidates.real(checkout, names, arguments.real) if needs_real else ([], [])
    few = [t for t in full[0] if Path(t.origin).stem] or benchmark_candidates.small("triton_relu", 8, 1)[0]
    mixed = [*load_tasks("heldout")[::4], *few[:5]]

    def step(section: str, work: Callable[[], Any]) -> None:
        if section not in wanted:
            return
        try:
            made = work()
            save(out, made if isinstance(made, list) else [made], known)
        except Exception as error:  # noqa: BLE001 - a table with a hole is better than none
            print(f"{section} failed: {type(error).__name__}: {error}", flush=True)

    with Verifier(device="auto", workers=arguments.workers) as verifier:
        verifier.server()
        if not gpu:
            verifier.front_end()

        def group(section: str, kind: str) -> list[dict[str, Any]]:
            tasks, candidates = benchmark_candidates.small(kind, arguments.count, arguments.per_task)
            lines = [judge(verifier, f"{section}, cold", tasks, candidates, "pass", limit=limit / 2)[0]]
            if gpu:
                lines.append(judge(verifier, f"{section}, again", tasks, candidates, "pass", limit=limit / 2)[0])
            return lines

        def interpreted() -> list[dict[str, Any]]:
            taught = benchmark_candidates.taught(arguments.count)
            return [*group("interpreter", "triton_relu"), judge(verifier, "interpreter, taught", *taught, "pass")[0]]

        step("interpreter", interpreted)
        step("floor", lambda: [*floors(verifier), builds(48, arguments.workers or 12)])
        step("triton", lambda: group("triton", "triton_relu"))
        step("cuda", lambda: group("cuda", "cuda_relu"))
        step("nvrtc", lambda: group("nvrtc", "nvrtc_relu"))
        step("real", lambda: real(verifier, *full, limit, out.with_name(f"{out.stem}-real.csv")))
        step("aa", lambda: against_itself(verifier, mixed, arguments.pairs, limit, out.with_name(f"{out.stem}-aa.csv")))
        step("self", lambda: as_candidate(verifier, few[:4], limit))
        step("zeros", lambda: zeros(verifier, checkout, limit, out.with_name(f"{out.stem}-zeros.csv")))
    step("kernelbench", lambda: kernelbench(checkout, *full, limit, out.with_name(f"{out.stem}-kernelbench.csv")))


if __name__ == "__main__":
    main()
