"""Which APIs of the catalogue the teacher writes and has kernels for, by backend."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable

from kzlib.records import Backend, Task

TRIES = 24


def example(api: str, seed: int = 0) -> Task | None:
    """A small task that uses exactly this API (with a companion where one alone is no task), or None."""
    from kzlib.teacher import grammar
    from kzlib.teacher.graph import execute
    from kzlib.teacher.worth import worth

    if not grammar.writable(api):
        return None
    for k in range(TRIES):
        rng = random.Random(f"{seed}/{api}/{k}")  # noqa: S311
        alone = k < TRIES // 2 and api not in grammar.FAMILIES["layout"]  # a view alone computes nothing
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


def markdown(names: Iterable[tuple[str, str]]) -> str:
    """The table of docs/teacher_apis.md from (API, operator class) pairs."""
    both = {b: set(supported_apis(b)) for b in ("triton", "cuda")}  # type: ignore[arg-type]
    rows = list(names)
    count = sum(n in both["triton"] and n in both["cuda"] for n, _ in rows)
    lines = [
        "# APIs the teacher knows",
        "",
        f"{count} of {len(rows)} catalogue names have kernels in both backends. Written by "
        "`python scripts/teacher_apis.py`; do not edit.",
        "",
        "| API | class | Triton | CUDA |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| `{n}` | {c} | {'yes' if n in both['triton'] else ''} | {'yes' if n in both['cuda'] else ''} |"
        for n, c in rows
    ]
    return "\n".join(lines) + "\n"
