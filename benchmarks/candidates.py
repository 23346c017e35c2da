"""What the verifier's benchmark judges: small kernels of many sources, kernels for real tasks, references, zeros."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kzlib.records import Candidate, Task

KERNELS = Path(__file__).parent / "kernels"
RELU = """import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.relu(x * {scale})
def get_inputs(): return [torch.randn(64, 1024)]
def get_init_inputs(): return []
"""
# The shape of the answer is found on the meta device, where nothing is computed; a kernel then writes zeros.
ZEROS = """

import triton
import triton.language as tl


DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def _zeros(y_ptr, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + index, 0.0, mask=index < n)


def _filled(value):
    if isinstance(value, torch.Tensor):
        y = torch.empty(value.shape, dtype=value.dtype, device=DEVICE)
        if y.numel():
            _zeros[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)
        return y
    return type(value)(map(_filled, value)) if isinstance(value, (tuple, list)) else value


class ModelNew(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        with torch.device("meta"):
            self.shape_of = [Model(*args, **kwargs).to("meta")]

    def forward(self, *inputs):
        with torch.device("meta"):
            like = [x.to("meta") if isinstance(x, torch.Tensor) else x for x in inputs]
            return _filled(self.shape_of[0](*like))
"""


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


def taught(count: int) -> tuple[list[Task], list[Candidate]]:
    """`count` small modules of all families with the teacher's Triton kernels, as in a cold start's corpus."""
    from kzlib.teacher.sample import sample

    made = (sample(31, index, "triton", None, "plain") for index in range(2 * count))
    found = [s for s in made if s is not None][:count]
    return [s.task for s in found], [s.candidate for s in found]


def levels(checkout: Path) -> list[tuple[int, Task]]:
    """Every task of levels 1 and 2 of a KernelBench checkout, the two levels in turn."""
    from kzlib.tasks import load_tasks

    both = [[(n, task) for task in load_tasks(f"kernelbench:{checkout}:level{n}")] for n in (1, 2)]
    return [pair for pairs in zip(*both, strict=False) for pair in pairs]


def real(checkout: Path, names: list[str], limit: int) -> tuple[list[Task], list[Candidate]]:
    """Real tasks, spread over both levels, and a kernel for each: ours in kernels/real/, else the teacher's."""
    from kzlib.teacher import Unsupported, solve

    def made(pair: tuple[int, Task]) -> tuple[Task, Candidate] | None:
        level, task = pair
        file = KERNELS / "real" / f"level{level}_{Path(task.origin).stem}.py"
        if file.exists():
            backend = "cuda" if "load_inline" in file.read_text() else "triton"
            return task, Candidate(task.id, backend, file.read_text())  # type: ignore[arg-type]
        try:
            return task, solve(task, "triton")
        except (Unsupported, ValueError):
            return None

    wanted = [p for p in levels(checkout) if not names or any(n in Path(p[1].origin).stem for n in names)]
    step = max(1, len(wanted) // max(1, 2 * limit)) | 1  # odd, so that both levels are met; half may have no kernel
    with ThreadPoolExecutor(8) as pool:
        found = [row for row in pool.map(made, wanted[::step]) if row is not None][:limit]
    return [task for task, _ in found], [candidate for _, candidate in found]


def copies(tasks: list[Task], count: int) -> list[Candidate]:
    """The reference as its own candidate, `count` times a task, each another text."""
    from kzlib.verifier.gpu import self_candidate

    return [
        Candidate(task.id, "triton", f"{self_candidate(task).source}\n# copy {n}\n")
        for n in range(count)
        for task in tasks
    ]


def zeros(checkout: Path, shrunk: bool) -> tuple[list[Task], list[Candidate]]:
    """A kernel of zeros for every task of levels 1 and 2; `shrunk` to what the interpreter can run."""
    from kzlib.evaluation import small

    tasks = [task for _, task in levels(checkout)]
    tasks = small(tasks) if shrunk else tasks
    return tasks, [Candidate(task.id, "triton", task.source + ZEROS) for task in tasks]
