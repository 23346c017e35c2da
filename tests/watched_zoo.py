"""The GPU's watched call on the zoo's Triton cases, with launches carried out by the interpreter: run as a program of
its own, because the interpreter is chosen when Triton is imported. Prints one JSON line a case.

    TRITON_INTERPRET=1 python -m tests.watched_zoo 5 NAME ...     every fifth honest case, and these
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from typing import Any

import torch
import triton.runtime.interpreter as ti

from kzlib.verifier import children, gpu_memory, interpreter
from kzlib.verifier.evidence import LINEAR, MOVES, only_lines
from kzlib.verifier.gpu_launches import watched_facts
from kzlib.verifier.gpu_watch import Banded, Watch
from kzlib.verifier.ops import OpLog, families
from kzlib.verifier.reference import variants
from kzlib.zoo import Case, case, cases, tasks

watching: list[Watch] = []


def observe() -> None:
    """Every launch goes through the watch, as `JITFunction.run` does on a device."""
    interpreter.install()
    carry_out = ti.GridExecutor.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not watching:
            return carry_out(self, *args, **kwargs)
        values = (*args, *kwargs.values())
        return watching[0].around(self.fn.__name__, values, lambda: carry_out(self, *args, **kwargs))

    ti.GridExecutor.__call__ = call
    gpu_memory.on_device = lambda tensor: True


def seen(one: Case) -> dict[str, Any]:
    """What the watch says of a case on the task's own inputs and, while all launches only copy, on its probes."""
    task, _ = children.load_source(tasks()[one.task].source, "task")
    module, _ = children.load_source(one.candidate.source, "candidate")
    init = task.get_init_inputs()
    torch.manual_seed(1)
    model = task.Model(*init)
    torch.manual_seed(1)
    own = module.ModelNew(*init)
    torch.manual_seed(2)
    plain = task.get_inputs()
    sets = [plain, *(next(iter(variants(kind, plain)), None) for kind in ("wide", "shifted", "sunk"))]
    with torch.no_grad(), OpLog() as reference:
        model(*children.copy_tree(plain))
    rows: list[dict[str, Any]] = []
    used: set[str] = set()
    outside = ""
    for inputs in filter(None, sets):
        watch = Watch(lambda: None, lambda: False)
        watching.append(watch)
        try:
            with torch.no_grad(), OpLog(interpreter.RECORDER) as log, Banded(watch):
                own(*children.copy_tree(inputs))
        finally:
            watching.clear()
        watch.check("the last")
        used |= families(log.rows)
        rows += (facts := watched_facts(watch))
        outside = outside or watch.outside
        if not (facts and only_lines(facts)):
            break
    copies = bool(rows) and only_lines(rows) and bool(families(reference.rows) - used - MOVES - LINEAR)
    return {"name": one.name, "copies": copies, "outside": outside, "launches": len(rows), "error": ""}


def main() -> None:
    """Every n-th honest case, and those named."""
    honest = [c for c in cases() if c.honest and c.backend == "triton" and "invalid_task" not in c.expect]
    chosen = honest[:: int(sys.argv[1])] + [case(name) for name in sys.argv[2:]]
    os.chdir(tempfile.mkdtemp())
    observe()
    for one in chosen:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                row = seen(one)
        except Exception as error:
            row = {"name": one.name, "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(row))


if __name__ == "__main__":
    main()
