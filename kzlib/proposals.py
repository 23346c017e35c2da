"""API set and module, for the Proposer's cold start: the sampler draws the sets, the teacher's grammar the modules.

A Proposer needs no kernels to learn from, so these are not the Coder's pairs. The sets come from the distribution that
it will be asked from, without those kept for asking. The modules have one plain spelling, with every size where it is
used, so that nothing need be decided before the text that it depends on. Source: DESIGN sections 7 and 8.
"""

from __future__ import annotations

import ast
import math
import multiprocessing
import os
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from kzlib.apis.catalogue import catalogue
from kzlib.apis.sampler import Sampler, sample_sets
from kzlib.naming import SIZES
from kzlib.prompts import spelled_call
from kzlib.records import Task
from kzlib.spelling import Functions
from kzlib.validity import check_text
from kzlib.weakness import Weakness

TRIES = 4  # drafts of a set; of 319 sets that could be written at all, 303 were at the first
CHUNK = 128  # sets a worker writes at once
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass Model(nn.Module):\n"
METHOD = re.compile(r"\b[a-z]\.[a-z_]+\(")


@dataclass(frozen=True, slots=True)
class Written:
    """A module, and its APIs in the order in which it calls them: a prompt to be followed from left to right."""

    source: str
    apis: tuple[str, ...]

    @property
    def task(self) -> Task:
        return Task(self.source, self.apis, origin="teacher:proposals")


def learning_sets(
    wanted: int,
    seed: int,
    sampler: Sampler,
    sizes: Sequence[int],
    allowed: Collection[str] | None,
    apart: Collection[tuple[str, ...]],
) -> list[tuple[str, ...]]:
    """Up to `wanted` different sets of the run's own sampler whose names the grammar knows, none of them in `apart`.

    >>> names = ("torch.exp", "torch.sum", "torch.abs")
    >>> sorted(learning_sets(9, 0, "cooccurrence", (2,), names, apart=[("torch.abs", "torch.exp")]))
    [('torch.abs', 'torch.sum'), ('torch.exp', 'torch.sum')]
    """
    from kzlib.teacher.grammar import writable

    names = [name for name in (allowed or [api.name for api in catalogue()]) if writable(name)]
    exist = sum(math.comb(len(names), size) for size in set(sizes))
    drawn = sample_sets(min(wanted + len(apart), exist), seed, sampler, sizes, Weakness(), names)
    kept_apart = {frozenset(s) for s in apart}
    return [s for s in drawn if frozenset(s) not in kept_apart][:wanted]


def module_for(apis: Sequence[str], rng: random.Random) -> Written | None:
    """A module that uses exactly these APIs and is worth asking about, or None where the grammar finds none.

    >>> written = module_for(("torch.exp", "torch.nn.Linear"), random.Random(0))
    >>> "torch.exp(" in written.source, "nn.Linear(" in written.source, written.apis
    (True, True, ('torch.exp', 'torch.nn.Linear'))
    """
    from kzlib.teacher.grammar import draft_for
    from kzlib.teacher.graph import execute
    from kzlib.teacher.worth import worth

    for _ in range(TRIES):
        draft = draft_for(apis, rng)
        if draft is None:
            return None
        if len(draft.lines) > len(apis) + 2:
            continue  # more arithmetic than was asked for
        written = Written(plain_source(draft), tuple(draft.apis))
        asked_for = all(call in written.source for call in map(spelled_call, apis))
        if not asked_for or not check_text(written.task, apis).valid:
            continue
        try:
            if worth(execute(written.source)):
                return written
        except (RuntimeError, ValueError, TypeError, IndexError):
            continue  # the grammar wrote a module that Torch refuses
    return None


def plain_source(draft: Any) -> str:
    """The text of a `kzlib.teacher.draft.Draft`: functions before methods, sizes as numbers, no empty constructor."""
    arguments = draft.arguments if draft.init else []
    sizes = dict(zip(arguments, SIZES, strict=False))
    init = [_put(line, {**draft.constants, **sizes}) for line in draft.init]
    names = [name for name, _ in draft.inputs]
    body = [_as_functions(_put(line, draft.constants), {*names, "r"}) for line in draft.lines]
    lines = []
    if init:
        lines += [f"    def __init__({', '.join(['self', *sizes.values()])}):", "        super().__init__()"]
        lines += [*(f"        {line}" for line in init), ""]
    lines += [f"    def forward({', '.join(['self', *names])}):", *(f"        {line}" for line in body)]
    lines += [f"        return {draft.value}", "", "", "def get_inputs():"]
    lines += [f"    return [{', '.join(_put(text, draft.constants) for _, text in draft.inputs)}]", "", ""]
    given = ", ".join(str(draft.constants[name]) for name in arguments)
    lines += ["def get_init_inputs():", f"    return [{given}]"]
    return HEAD + "\n".join(lines) + "\n"


def _put(text: str, values: Mapping[str, Any]) -> str:
    """`text` with names replaced where they are read: not after a dot, not as a keyword."""
    return re.sub(r"(?<![\w.])[a-z_]\w*(?!\w|\s*=[^=]|\()", lambda m: str(values.get(m[0], m[0])), text)


def _as_functions(line: str, values: set[str]) -> str:
    return ast.unparse(Functions(values).visit(ast.parse(line))) if METHOD.search(line) else line


def _chunk(arguments: tuple[Sequence[tuple[str, ...]], int]) -> list[Written]:
    sets, seed = arguments
    made = (module_for(apis, random.Random(f"{seed}/{apis}")) for apis in sets)  # noqa: S311
    return [written for written in made if written is not None]


def modules(
    sets: Sequence[tuple[str, ...]], seed: int, workers: int | None = None
) -> Iterator[tuple[int, list[Written]]]:
    """A module for each set that the grammar can write one for, in parts with the number of sets looked at.

    The same whatever the number of workers (None or 0: as many as cores, up to 16).
    """
    from kzlib.teacher.sample import single_threaded

    jobs = [(sets[k : k + CHUNK], seed) for k in range(0, len(sets), CHUNK)]
    workers = min(workers or min(16, len(os.sched_getaffinity(0))), len(jobs))
    if workers <= 1:
        yield from ((len(job[0]), _chunk(job)) for job in jobs)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), single_threaded) as pool:
        yield from ((len(job[0]), part) for job, part in zip(jobs, pool.map(_chunk, jobs), strict=True))
