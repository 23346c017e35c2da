"""Does a mutant change any value? Decided apart from the verifier: the interpreter's outputs against the original's.

`python -m tests.zoo.values < jobs.jsonl` answers for every mutant: changed, same, unsafe (it leaves its arguments'
memory) or broken (it does not run). Every mutant runs in a process of its own, because a broken kernel may end it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SECONDS = 20
# Beyond rounding: this many epsilons of an element's size plus the output's root mean square.
EPSILONS = 32


def classify(jobs: Iterable[tuple[str, str, list[str]]], workers: int = 2) -> list[list[str]]:
    """For each (task source, original, mutants): "changed", "same", "unsafe" or "broken" for each mutant, in order."""
    rows = [json.dumps(job) for job in jobs]
    processes = []
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[2]
    for part in range(workers):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.zoo.values"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=environment, cwd=root, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        processes.append((process, rows[part::workers]))
    answers: list[list[list[str]]] = []
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        outputs = pool.map(lambda p: p[0].communicate("\n".join(p[1]))[0], processes)
        for (process, mine), output in zip(processes, outputs, strict=True):
            lines = output.splitlines()
            if process.returncode or len(lines) != len(mine):
                raise RuntimeError("the evaluation of mutants ended early")
            answers.append([json.loads(line) for line in lines])
    return [answers[n % workers][n // workers] for n in range(len(rows))]


def main() -> None:
    """Read jobs, answer each."""
    import torch

    from kzlib.verifier import interpreter

    torch.set_num_threads(1)
    interpreter.install()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # kernels may print
    for line in sys.stdin:
        task, original, broken = json.loads(line)
        print(json.dumps(list(_answers(task, original, broken))), file=answers, flush=True)


def _answers(task: str, original: str, broken: list[str]) -> Iterator[str]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        right = outputs(task, original)
        for source in broken:
            yield _in_child(task, source, right)
        os.chdir("/")


def _in_child(task: str, source: str, right: list[Any]) -> str:
    from kzlib.verifier.launches import Fault

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)
        verdict = b"broken"
        try:
            verdict = b"changed" if differ(outputs(task, source), right) else b"same"
        except Fault:
            verdict = b"unsafe"
        except BaseException:
            pass
        os.write(write, verdict)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    return answer.decode() or "broken"


def outputs(task: str, source: str) -> list[Any]:
    """Outputs, changed inputs and buffers on four input sets, as flat lists of tensors."""
    import torch

    from kzlib.verifier.children import all_state, copy_tree, load_source, shake_constants, tensors_of
    from kzlib.verifier.interpreter import RECORDER

    reference, _ = load_source(task, "task")
    candidate, _ = load_source(source, "candidate")
    arguments = reference.get_init_inputs()
    torch.manual_seed(1)
    model = reference.Model(*arguments)
    shake_constants(model, 1)
    torch.manual_seed(1)
    own = candidate.ModelNew(*arguments)
    shake_constants(own, 1)
    own.load_state_dict(model.state_dict(), strict=False)
    found = []
    for seed, scale in ((1, 1.0), (2, 1.0), (3, 0.2), (4, 8.0)):
        torch.manual_seed(seed)
        inputs = [_scaled(value, scale) for value in reference.get_inputs()]
        for tensor in (*tensors_of(inputs), *all_state(own).values()):  # what a table of pointers may lead to
            RECORDER.storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        with torch.no_grad():
            result = own(*inputs)
        found.append(
            [*tensors_of(copy_tree(result)), *tensors_of(copy_tree(inputs)), *(b.clone() for b in own.buffers())]
        )
    return found


def _scaled(value: Any, scale: float) -> Any:
    import torch

    if isinstance(value, list):
        return [_scaled(v, scale) for v in value]
    if isinstance(value, torch.Tensor) and value.is_floating_point() and not bool((value == value.round()).all()):
        return value * scale
    return value


def differ(broken: list[Any], right: list[Any]) -> bool:
    """Does any output of any set differ beyond rounding?"""
    for ours, theirs in zip(broken, right, strict=True):
        if len(ours) != len(theirs):
            return True
        if any(_differs(a, b) for a, b in zip(ours, theirs, strict=True)):
            return True
    return False


def _differs(a: Any, b: Any) -> bool:
    import torch

    if a.shape != b.shape or a.dtype != b.dtype:
        return True
    if not a.numel():
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return not torch.equal(a, b)
    epsilon = torch.finfo(a.dtype).eps
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    a, b = a.double(), b.double()
    finite = torch.isfinite(b)
    if not torch.equal(torch.isfinite(a), finite):
        return True
    if not finite.any():
        return False
    a, b = a[finite], b[finite]
    return bool(((a - b).abs() > EPSILONS * epsilon * (b.abs() + b.square().mean().sqrt())).any())


if __name__ == "__main__":
    main()
