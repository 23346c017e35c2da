"""Which APIs of the catalogue the teacher writes and has kernels for, by backend."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from kzlib.records import Backend, Candidate, Task

TRIES = 24
BACKENDS: tuple[Backend, ...] = ("triton", "cuda")


def example(api: str, seed: int = 0) -> Task | None:
    """A small task that uses exactly this API (with a companion where one alone is no task), or None."""
    from kzlib.teacher import grammar
    from kzlib.teacher.graph import execute
    from kzlib.teacher.worth import worth

    if not grammar.writable(api):
        return None
    for k in range(TRIES):
        rng = random.Random(f"{seed}/{api}/{k}")  # noqa: S311
        alone = k < TRIES // 2 and api not in grammar.TRIVIAL  # moving or rescaling alone computes nothing
        apis = [api] if alone else [api, "torch.nn.functional.silu"]
        draft = grammar.draft_for(apis, rng)
        if draft is None:
            continue
        source = grammar.module_source(draft)
        try:
            if worth(execute(source)):
                return Task(source, tuple(draft.apis), origin="teacher:example")
        except (RuntimeError, ValueError, TypeError, IndexError):
            continue
    return None


def supports(api: str, backend: Backend) -> bool:
    """Does a task with this API get a kernel?"""
    from kzlib.teacher.compiler import compile_graph
    from kzlib.teacher.graph import Unsupported, trace

    task = example(api)
    if task is None:
        return False
    try:
        compile_graph(task.source, trace(task.source), backend)
    except Unsupported:
        return False
    return True


@functools.cache
def supported_apis(backend: Backend) -> tuple[str, ...]:
    """Catalogue names that the teacher writes modules for and lowers to `backend`, in catalogue order (a few
    seconds)."""
    from kzlib.apis import catalogue

    return tuple(a.name for a in catalogue() if supports(a.name, backend))


@dataclass
class Row:
    """One API of the table: what was said about the kernels of its sample ("" where nothing was)."""

    api: str
    operator_class: str
    candidates: str = ""  # ids of the kernels' texts
    triton: str = ""
    cuda: str = ""


def examples(api: str, operator_class: str) -> tuple[Row, Task | None, list[Candidate]]:
    """The API's row, still without verdicts, its task, and a kernel for each backend that has one."""
    from kzlib.teacher.compiler import compile_graph
    from kzlib.teacher.graph import Unsupported, trace

    task = example(api)
    if task is None:
        return Row(api, operator_class), None, []
    made = []
    for backend in BACKENDS:
        try:
            text, _, _ = compile_graph(task.source, trace(task.source), backend)
        except Unsupported:
            continue
        made.append(Candidate(task.id, backend, text))
    return Row(api, operator_class, " ".join(c.id for c in made)), task, made


def markdown(rows: Sequence[Row]) -> str:
    """The table of docs/teacher_apis.md.

    >>> markdown([Row("torch.sum", "reduction", "a b", "pass", "compiles")]).splitlines()[2][:37]
    '1 of 1 catalogue names have kernels i'
    """
    count = sum(r.triton == "pass" and r.cuda in ("pass", "compiles") for r in rows)
    lines = [
        "# APIs the teacher knows",
        "",
        f"{count} of {len(rows)} catalogue names have kernels in both backends that were judged on a sample: Triton by "
        "the strict verifier, CUDA by the strict verifier (pass) or by nvcc alone (compiles). Written by "
        "`python scripts/teacher_apis.py`; do not edit.",
        "",
        "| API | class | Triton | CUDA |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| `{r.api}` | {r.operator_class} | {r.triton} | {r.cuda} |" for r in rows]
    return "\n".join(lines) + "\n"
