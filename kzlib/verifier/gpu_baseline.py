"""A task's reference in a CUDA context of its own: gives its sets when asked, and is the baseline of timed pairs.

Source: issue 4, items 3 and 4; DESIGN section 6.
"""

from __future__ import annotations

import copy
import time
from dataclasses import asdict
from typing import Any

import torch

from kzlib.verifier import children, gpu_wire
from kzlib.verifier.gpu_clock import DEVICE, Clock, timed_call
from kzlib.verifier.gpu_plan import LARGE, Need, exact_pays
from kzlib.verifier.gpu_sizes import bytes_of
from kzlib.verifier.ops import OpLog
from kzlib.verifier.reference import PLAIN, SHIFTED, Reference, TaskError


def reference_main(borrower: gpu_wire.Borrower, clock: Clock, job: dict[str, Any], walls: list[str]) -> None:
    """Answer one reference job, then give sets and serve as the baseline of timed pairs until the judge hangs up."""
    filename: list[str | None] = [None]
    start = time.perf_counter()
    try:
        reference = GpuReference(job, filename, device=str(DEVICE))
        head = reference.head()
        head["seconds"]["reference_total"] = time.perf_counter() - start
        borrower.send({"event": "reference", "walls": walls, **head})
        del head
        while True:
            request = borrower.receive()
            if request.get("time"):
                borrower.send({"event": "timed", **timed_call(clock, reference.model, request)})
            elif request.get("other"):
                borrower.send({"event": "set", "row": reference.other(len(reference.kinds), reference.exact)})
            elif request.get("begin"):
                reference.begin()
                borrower.send({"event": "state", "unmatched": [], "mapping": {}})
            elif request.get("again"):
                borrower.send({"event": "set", "native": reference.again()})
            else:
                reference.kinds = request["kinds"]
                borrower.send({"event": "set", **reference.row(request["set"])})
            timed = request.get("time")
            del request
            if reference.need.large and not timed:  # a timed call that must fetch its memory anew is no baseline
                torch.cuda.empty_cache()
    except TaskError as error:
        row = children.describe(error.cause, filename[0], "task")
        memory = isinstance(error.cause, torch.OutOfMemoryError)
        borrower.send({"event": "failed", "stage": error.stage, "memory": memory, **row})


class GpuReference(Reference):
    """A reference whose weights and inputs are made on the device, and whose sets are made when they are asked for.

    Where one set and its answer pass `gpu_plan.LARGE` there are two sets instead of four and no float64 run; none
    either where convolutions would make it slow.
    """

    multiple = 16  # Triton compiles again for a length that 16 stops dividing

    def head(self) -> dict[str, Any]:
        """Everything but the sets: weights, operators of one call, and what a set takes."""
        start, before = time.perf_counter(), self._buffers()
        weights = bytes_of(children.all_state(self.model))
        self.initial = copy.deepcopy(self.model) if weights < LARGE // 4 else self.model
        model = copy.deepcopy(self.initial) if weights < LARGE // 4 else self.model
        inputs = self.inputs(0)
        held = torch.cuda.memory_allocated(DEVICE)
        torch.cuda.reset_peak_memory_stats(DEVICE)
        children.seed_everything(self.noise_seed)
        with OpLog() as log:
            output = self.run(model, inputs)
        self._stage("run", torch.cuda.synchronize)
        peak = torch.cuda.max_memory_allocated(DEVICE) - held
        answer = bytes_of(output)
        self.need = Need(bytes_of(inputs), answer, weights, workspace=max(0, peak - answer))
        del inputs, output, model
        self._restore(before)
        self.first = before
        exact = self.job["float64"] and not self.need.large and exact_pays(log.rows)
        self.exact = self._exact_model(self.model) if exact else None
        self.kinds = [k for k in self.planned() if not self.need.large or k in (PLAIN, SHIFTED)]
        if self.need.large and len(self.kinds) > 2:
            self.kinds = [PLAIN, SHIFTED]
        self.before: list[tuple[Any, Any]] = []
        self.last: Any = None
        self.seconds["reference_head"] = time.perf_counter() - start
        return {
            "init": self.init, "init_seed": self.init_seed, "noise_seed": self.noise_seed,
            "state": children.all_state(self.model), "training": self.model.training, "ops": log.rows,
            "seconds": self.seconds, "kinds": self.kinds, "need": asdict(self.need),
        }  # fmt: skip

    def row(self, index: int) -> dict[str, Any]:
        """Set number `index`, the same each time: buffers begin as the sets before it left them."""
        while len(self.before) < index:
            self.row(len(self.before))
        if index == len(self.before):
            exact = None if self.exact is None else copy.deepcopy(dict(self.exact.named_buffers()))
            self.before.append((self._buffers(), exact))
        buffers, exact = self.before[index]
        self._restore(buffers)
        if self.exact is not None:
            children.write_buffers(self.exact, exact)
        return self.make(index, self.kinds[index], self.exact)

    def begin(self) -> None:
        """Buffers as they were before any call."""
        self._restore(self.first)

    def again(self) -> Any:
        """The native answer to the first set once more, under another global seed."""
        if self.initial is self.model:
            self._restore(self.before[0][0] if self.before else self._buffers())
        inputs = self.inputs(0)
        children.seed_everything(self.noise_seed ^ 0x5A5A5A)
        return self.run(copy.deepcopy(self.initial) if self.initial is not self.model else self.model, inputs)

    def other(self, index: int, exact: Any) -> dict[str, Any] | None:
        """The set at another shape; buffers begin as every set before it left them."""
        if self.last is None:
            self.last = (self._buffers(), None if exact is None else copy.deepcopy(dict(exact.named_buffers())))
        self._restore(self.last[0])
        if exact is not None and self.last[1] is not None:
            children.write_buffers(exact, self.last[1])
        return super().other(index, exact)

    def _buffers(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self.model.named_buffers()}

    def _restore(self, buffers: dict[str, torch.Tensor]) -> None:
        children.write_buffers(self.model, buffers)

    def _load(self, filename: list[str | None]) -> Any:
        with torch.device(self.device):
            return super()._load(filename)

    def _build(self) -> torch.nn.Module:
        with torch.device(self.device):
            return super()._build()

    def inputs(self, index: int) -> list[Any]:
        with torch.device(self.device):
            return super().inputs(index)
