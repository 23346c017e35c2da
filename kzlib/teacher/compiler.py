"""Task -> candidate: trace, plan, print, put together."""

from __future__ import annotations

from typing import Any

from kzlib.records import Backend, Candidate, Task
from kzlib.teacher.families import FAMILIES
from kzlib.teacher.graph import Graph, Unsupported
from kzlib.teacher.module import TRITON_IMPORTS, assemble
from kzlib.teacher.plan import Plan
from kzlib.teacher.schedule import PLAIN, choose
from kzlib.teacher.tracer import trace_foreign
from kzlib.teacher.triton_printer import print_triton


def compile_graph(
    source: str, graph: Graph, backend: Backend, schedule: dict[str, Any] | None = None
) -> tuple[str, Plan, tuple[str, ...]]:
    """Candidate text, the plan behind it, and the compiler principles its kernels use."""
    schedule = dict(PLAIN if schedule is None else schedule)
    plan = Plan(graph, schedule, FAMILIES).run()
    kernels = [choose(step.kernel) for step in plan.steps]
    if backend == "triton":
        printed = [
            print_triton(k, schedule.get("style", "plain") == "plain", frozenset(graph.signature)) for k in kernels
        ]
        text = assemble(source, plan, printed, TRITON_IMPORTS)
    else:
        from kzlib.teacher.cuda_printer import cuda_module

        text, printed = cuda_module(source, plan, kernels)
    principles = tuple(dict.fromkeys(p for k in printed for p in k.principles))
    return text, plan, principles


def solve(task: Task, backend: Backend, schedule: dict[str, Any] | None = None) -> Candidate:
    """A kernel for any task whose operators the teacher knows. The task's source runs in a child process only.

    Raises `Unsupported`, which names the operator or the form that has no lowering.
    """
    graph = trace_foreign(task.source)
    try:
        text, _, _ = compile_graph(task.source, graph, backend, schedule)
    except (KeyError, IndexError, ValueError, TypeError, AssertionError, AttributeError) as error:
        raise Unsupported(f"no lowering for this form ({type(error).__name__}: {error})") from error
    return Candidate(task.id, backend, text)
