"""Samples: a module, its kernel, and how the kernel was made."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from kzlib.records import Backend, Candidate, Task


@dataclass(frozen=True, slots=True)
class Sample:
    """A task with a kernel for it; `family` is the anchor's, `principles` name the compiler ideas the kernel uses."""

    task: Task
    candidate: Candidate
    family: str
    schedule: dict[str, Any] = field(default_factory=dict)
    principles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Style:
    """How much a module of a style may hold: the chance of an idiom, APIs beside the first, lengths of texts."""

    by_hand: float
    companions: tuple[float, ...]  # chances of 0, 1, 2, ... more APIs
    lines: int
    kernels: int
    characters: int


STYLES = {
    "plain": Style(0.0, (0.35, 0.35, 0.2, 0.1), 6, 3, 3200),  # short and regular: what a small model can learn
    "broad": Style(0.3, (0.3, 0.3, 0.2, 0.12, 0.08), 8, 4, 4200),  # longer, with what people write by hand
    "varied": Style(0.15, (0.35, 0.35, 0.2, 0.1), 99, 99, 10**6),  # in the clothes that people give their modules
}
CHUNK = 32
POINTWISE_FAMILIES = ("elementwise", "activation")  # companions that any family may have


def sample(seed: int, index: int, backend: Backend, families: Sequence[str] | None, styles: str) -> Sample | None:
    """Sample `index` of the stream of `seed`: the same on every machine, whatever the number of workers."""
    from kzlib.constructor import settled_source
    from kzlib.naming import named_alike
    from kzlib.teacher import grammar
    from kzlib.teacher.compiler import compile_graph
    from kzlib.teacher.graph import Unsupported, execute, trace_namespace
    from kzlib.teacher.schedule import draw
    from kzlib.teacher.surface import varied_source
    from kzlib.teacher.worth import worth

    rng = random.Random(f"{seed}/{index}/{backend}")  # noqa: S311
    style, dressed = STYLES[styles], styles == "varied"
    for _ in range(30):
        apis = grammar.sample_apis(rng, families, style.companions)
        draft = grammar.draft_for(apis, rng, by_hand=style.by_hand)
        if draft is None or len(draft.lines) > style.lines:
            continue
        if families and not set(draft.families) <= {*families, *POINTWISE_FAMILIES}:
            continue
        source = varied_source(draft, rng) if dressed else named_alike(grammar.module_source(draft))
        schedule = draw(rng, styles)
        shown = source if dressed else settled_source(source)  # the kernel mirrors what the Coder is shown
        try:
            space = execute(source)
            if not worth(space):
                continue
            graph = trace_namespace(space if shown == source else execute(shown))
        except (RuntimeError, ValueError, TypeError, IndexError):
            continue  # the grammar wrote a module that Torch refuses
        try:
            text, plan, principles = compile_graph(shown, graph, backend, schedule)
        except Unsupported:
            continue
        if len(plan.steps) > style.kernels or len(text) > style.characters:
            continue
        task = Task(source, tuple(draft.apis), origin=f"teacher:{styles}")
        anchor = next((f for f in draft.families if f not in POINTWISE_FAMILIES), draft.families[0])
        return Sample(task, Candidate(task.id, backend, text), anchor, schedule, principles)
    return None


def single_threaded() -> None:
    """For worker processes, as many as cores. Never for a caller's own process, which goes on to train."""
    import torch

    torch.set_num_threads(1)


def _chunk(arguments: tuple[int, int, int, Backend, tuple[str, ...] | None, str]) -> list[Sample]:
    seed, start, stop, backend, families, styles = arguments
    made = (sample(seed, k, backend, families, styles) for k in range(start, stop))
    return [s for s in made if s is not None]


def generate(
    n: int, seed: int, backend: Backend = "triton", families: Sequence[str] | None = None, styles: str = "plain",
    workers: int | None = None,
) -> Iterator[Sample]:  # fmt: skip
    """`n` samples with different tasks, in an order fixed by `seed`. `workers` processes write them (1: this one).

    >>> [s.family for s in generate(2, seed=0, families=["softmax"], workers=1)]
    ['softmax', 'softmax']
    """
    chosen = checked_families(families)
    seen: set[str] = set()
    for s in _stream(seed, backend, chosen, styles, workers):
        if s.task.id in seen:
            continue
        seen.add(s.task.id)
        yield s
        if len(seen) == n:
            return


def checked_families(families: Sequence[str] | None) -> tuple[str, ...] | None:
    from kzlib.teacher.grammar import families as known

    if not families:
        return None
    for name in families:
        if name not in known():
            raise ValueError(f"no family is called {name!r}: use one of {', '.join(known())}")
    return tuple(families)


def _stream(seed: int, backend: Backend, families: Any, styles: str, workers: int | None) -> Iterator[Sample]:
    for made in chunks(seed, backend, families, styles, workers):
        yield from made


def chunks(
    seed: int, backend: Backend, families: tuple[str, ...] | None, styles: str, workers: int | None, first: int = 0
) -> Iterator[list[Sample]]:
    """The stream of `seed` in chunks of at most `CHUNK`, from chunk `first` on, in order and without end."""
    workers = workers or min(8, len(os.sched_getaffinity(0)))
    jobs = ((seed, k * CHUNK, (k + 1) * CHUNK, backend, families, styles) for k in itertools.count(first))
    if workers == 1:
        yield from map(_chunk, jobs)
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), single_threaded)
    try:
        pending = [pool.submit(_chunk, next(jobs)) for _ in range(2 * workers)]
        while True:
            done = pending.pop(0).result()
            pending.append(pool.submit(_chunk, next(jobs)))
            yield done
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
