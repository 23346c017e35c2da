"""The reference's process: makes hidden inputs from a seed, runs the task natively and in float64, logs its operators.

The task's source is generated code too, so this runs in a child of its own; the judge only receives bytes.
Source: issue 3, items 2 and 3; DESIGN section 6, points 4 and 5.
"""

from __future__ import annotations

import copy
import random
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from kzlib.verifier import children, wire
from kzlib.verifier.ops import OpLog

# Kinds of input sets. Each probe is tried in turn until the reference stays finite on it; see docs/verifier.md.
PLAIN, WIDE, SHIFTED, SUNK, OTHER = "plain", "wide", "shifted", "sunk", "other shape"


class TaskError(Exception):
    """The task cannot be run; `stage` says where."""

    def __init__(self, stage: str, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.stage = stage
        self.cause = cause


def warm_up() -> None:
    """Touch what every reference touches, before any fork."""
    model = torch.nn.Linear(4, 4)
    with torch.no_grad(), OpLog():
        torch.nn.functional.gelu(model(torch.randn(2, 4))).sum()
    copy.deepcopy(model).double()


def main(channel: socket.socket, walls: list[str]) -> None:
    """Answer one job; see `judge.reference_of` for the request."""
    job = wire.receive(channel)
    if job.get("walls_only"):
        wire.send(channel, {"event": "walls", "walls": walls})
        return
    filename: list[str | None] = [None]
    try:
        result = Reference(job, filename).results()
        wire.send(channel, {"event": "reference", "walls": walls, **result})
    except TaskError as error:
        row = children.describe(error.cause, filename[0], "task")
        wire.send(channel, {"event": "failed", "stage": error.stage, **row})


class Reference:
    """One task under one seed. Device is a parameter so that a GPU executor can reuse everything."""

    multiple = 1  # of the length of a cut axis

    def __init__(self, job: dict[str, Any], filename: list[str | None], device: str = "cpu") -> None:
        self.job = job
        self.device = device
        self.seconds: dict[str, float] = {}
        seeds = random.Random(job["seed"])  # noqa: S311 - the secret is the seed, drawn from the system's source
        self.init_seed, self.noise_seed, *self.set_seeds = (seeds.getrandbits(63) for _ in range(2 + job["sets"]))
        if job.get("fixed_seed") is not None:
            self.init_seed, self.set_seeds = job["fixed_seed"], [job["fixed_seed"]] * job["sets"]
        start = time.perf_counter()
        self.module = self._stage("load", lambda: self._load(filename))
        for name in ("Model", "get_inputs"):
            if not hasattr(self.module, name):
                raise TaskError("load", AttributeError(f"the task defines no {name}"))
        self.init = self._stage(
            "init", lambda: self.module.get_init_inputs() if hasattr(self.module, "get_init_inputs") else []
        )
        if job["shake"]:
            children.shake_initialisers(self.noise_seed)
        children.seed_everything(self.init_seed)
        self.model = self._stage("init", self._build)
        if job["shake_state"]:
            children.shake_constants(self.model, self.noise_seed)
        self.seconds["reference_load"] = time.perf_counter() - start

    @staticmethod
    def _stage(name: str, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except TaskError:
            raise
        except Exception as error:  # noqa: BLE001 - generated code may raise anything
            raise TaskError(name, error) from None

    def _load(self, filename: list[str | None]) -> Any:
        module, filename[0] = children.load_source(self.job["source"], "task")
        return module

    def _build(self) -> torch.nn.Module:
        model = self.module.Model(*self.init)
        if not isinstance(model, torch.nn.Module):
            raise TypeError("Model is not a torch.nn.Module")
        return model.to(self.device)

    def inputs(self, index: int) -> list[Any]:
        """Input set number `index`, fresh from its own seed."""
        children.seed_everything(self.set_seeds[index])
        values = self._stage("inputs", self.module.get_inputs)
        if not isinstance(values, list | tuple):
            raise TaskError("inputs", TypeError("get_inputs does not return a list"))
        return [self._place(v) for v in values]

    def _place(self, value: Any) -> Any:
        return children.copy_tree(value.to(self.device)) if isinstance(value, torch.Tensor) else value

    def run(self, model: torch.nn.Module, inputs: list[Any]) -> Any:
        """One forward pass without gradients."""
        with torch.no_grad():
            return self._stage("run", lambda: model(*inputs))

    def planned(self) -> list[str]:
        """The kind of each input set, in order."""
        return [PLAIN] * self.job["plain"] + ([WIDE, SHIFTED, SUNK] if self.job["probes"] else [])

    def make(self, index: int, kind: str, exact: Any, ops: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """Set number `index`: a probe where the reference allows one, else as the task makes it."""
        probe = self._probe(index, kind, exact) if kind != PLAIN else None
        return probe or self._plain(index, exact, ops)

    def results(self) -> dict[str, Any]:
        """Everything the judge wants to know about this task and seed."""
        initial = copy.deepcopy(self.model)
        state = {k: v.detach().clone() for k, v in children.all_state(initial).items()}
        exact = self._exact_model(initial) if self.job["float64"] else None
        ops: list[dict[str, Any]] = []
        kinds = enumerate(self.planned())
        sets = [self.make(index, kind, exact, None if index else ops) for index, kind in kinds]
        other = self.other(len(sets), exact) if self.job["other_shape"] else None
        again = None
        if self.job["repeat"]:
            children.seed_everything(self.noise_seed ^ 0x5A5A5A)
            again = self.run(copy.deepcopy(initial), children.copy_tree(sets[0]["inputs"]))
        return {
            "init": self.init, "init_seed": self.init_seed, "noise_seed": self.noise_seed, "state": state, "sets": sets,
            "training": self.model.training, "ops": ops, "again": again, "seconds": self.seconds,
            "other": other,
        }  # fmt: skip

    def other(self, index: int, exact: Any) -> dict[str, Any] | None:
        """One more set with the same weights at another shape; None where the reference runs at none."""
        for inputs in reshaped(self.inputs(index), self.multiple):
            try:
                row = self._evaluate(OTHER, inputs, exact, None)
            except TaskError:
                continue
            if finite(row["native"]):
                return row
        return None

    def _exact_model(self, model: torch.nn.Module) -> torch.nn.Module | None:
        try:
            return copy.deepcopy(model).double()
        except Exception:  # noqa: BLE001 - a task may forbid it; the native result is then the yardstick
            return None

    def _plain(self, index: int, exact: Any, ops: list[dict[str, Any]] | None) -> dict[str, Any]:
        inputs = self.inputs(index)
        start = time.perf_counter()
        row = self._evaluate(PLAIN, inputs, exact, ops)
        self.seconds["reference_run"] = self.seconds.get("reference_run", 0.0) + time.perf_counter() - start
        return row

    def _probe(self, index: int, kind: str, exact: Any) -> dict[str, Any] | None:
        """The first variant of a set on which the reference stays finite; None where there is none."""
        base = self.inputs(index)
        before = {k: v.detach().clone() for k, v in children.all_state(self.model).items()}
        before64 = copy.deepcopy(exact)
        for variant in variants(kind, base):
            try:
                row = self._evaluate(kind, variant, exact, None)
            except TaskError:
                row = None
            if row is not None and finite(row["native"]) and finite(row["buffers"]):
                return row
            with torch.no_grad():
                for name, tensor in children.all_state(self.model).items():
                    tensor.copy_(before[name])
            if exact is not None and before64 is not None:
                exact.load_state_dict(before64.state_dict())
        return None

    def _evaluate(self, kind: str, inputs: list[Any], exact: Any, ops: list[dict[str, Any]] | None) -> dict[str, Any]:
        given, seed = children.copy_tree(inputs), self.noise_seed
        before = {k: v.detach().clone() for k, v in self.model.named_buffers()}
        children.seed_everything(seed)
        if ops is not None:
            with OpLog() as log:
                native = self.run(self.model, inputs)
            ops += log.rows
        else:
            native = self.run(self.model, inputs)
        native = children.copy_tree(native)
        changed = {
            k: v.detach().clone() for k, v in self.model.named_buffers()
            if k not in before or not children.same_bits(v, before[k])
        }  # fmt: skip
        mutated = not all(map(children.same_bits, children.tensors_of(inputs), children.tensors_of(given)))
        children.seed_everything(seed)
        copies = [copy.deepcopy(exact) for _ in range(2)] if exact is not None else []
        exact_output = self._exact(exact, [widen(v) for v in given])
        bent = None
        if exact_output is not None:
            moved = []
            for model, step in zip(copies, (1.0, STEP), strict=True):
                children.seed_everything(seed)
                moved.append(self._exact(model, [bend(v, seed, step) for v in given]))
            bent = smooth(exact_output, *moved)
        return {
            "kind": kind, "inputs": given, "native": native, "exact": exact_output, "buffers": changed,
            "mutated": inputs if mutated else None, "bent": bent,
        }  # fmt: skip

    def _exact(self, exact: torch.nn.Module | None, inputs: list[Any]) -> Any:
        if exact is None:
            return None
        torch.set_default_dtype(torch.float64)
        try:
            return children.copy_tree(self.run(exact, inputs))
        except TaskError:
            return None  # float32 tensors made inside the task meet float64 ones: the native run is the yardstick
        finally:
            torch.set_default_dtype(torch.float32)


def widen(value: Any) -> Any:
    """Floating tensors of a tree in float64, complex ones in complex128, everything else as a copy."""
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            return value.to(torch.complex128, copy=True)
        return value.to(torch.float64, copy=True) if value.is_floating_point() else value.clone()
    if isinstance(value, list | tuple):
        return type(value)([widen(v) for v in value])
    if isinstance(value, dict):
        return {k: widen(v) for k, v in value.items()}
    return value


STEP = 2.0**-6


def smooth(exact: Any, moved: Any, moved_less: Any) -> Any:
    """The answer moved by what the inputs' movement does smoothly: of two movements in one direction, one STEP times
    the other, the smaller effect counts. A jump that one of them happens to cross (a floor, a comparison) drops out."""
    if isinstance(exact, torch.Tensor):
        ok = all(isinstance(t, torch.Tensor) and t.shape == exact.shape for t in (moved, moved_less))
        if not ok or not (exact.is_floating_point() or exact.is_complex()):
            return exact
        return exact + torch.minimum((moved - exact).abs(), (moved_less - exact).abs() / STEP)
    if isinstance(exact, list | tuple):
        same = all(isinstance(t, list | tuple) and len(t) == len(exact) for t in (moved, moved_less))
        return [smooth(*row) for row in zip(exact, moved, moved_less, strict=True)] if same else exact
    if isinstance(exact, dict):
        same = all(isinstance(t, dict) and t.keys() == exact.keys() for t in (moved, moved_less))
        return {k: smooth(exact[k], moved[k], moved_less[k]) for k in exact} if same else exact
    return exact


def bend(value: Any, seed: int, step: float = 1.0) -> Any:
    """As `widen`, with every floating element moved by up to one epsilon of float32: how much the answer moves is what
    the problem itself does to rounding errors, and no algorithm can be asked to do much better. Whole numbers stay:
    they have no rounding error, and a target of 1 - 1e-7 is another target."""
    wide = widen(value)
    for tensor, original in zip(children.tensors_of(wide), children.tensors_of(value), strict=True):
        if original.is_floating_point() and tensor.numel() and not bool((original == original.round()).all()):
            generator = torch.Generator(tensor.device).manual_seed(seed)
            noise = torch.rand(tensor.shape, generator=generator, dtype=torch.float64, device=tensor.device) * 2 - 1
            tensor.mul_(1 + noise * (step * 2.0**-23))
    return wide


def finite(value: Any) -> bool:
    """True when every floating tensor of a tree is finite."""
    return all(
        bool(torch.isfinite(t).all()) for t in children.tensors_of(value) if t.is_floating_point() or t.is_complex()
    )


def variants(kind: str, inputs: list[Any]) -> Iterator[list[Any]]:
    """One after another, input sets of another scale, offset and sign, the boldest first. Integers and booleans stay.

    wide: stretched to a peak of 128 on both sides of the mean (exp overflows), the same about zero, x 4.
    shifted: a tenth of the spread, moved by forty of the new standard deviations; a tenth of the scale.
    sunk: shifted with the other sign, or a maximum that starts at 0 would pass; only where the reference allows.
    A tensor with many exact zeros keeps them (a mask or a triangular matrix), so it is scaled and never shifted.
    """
    floating = [t for t in children.tensors_of(inputs) if t.is_floating_point() and t.numel()]
    if not floating:
        return

    def scaled(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda x: x * factor

    def peak(x: torch.Tensor) -> torch.Tensor:
        top, bottom = float(x.max()), -float(x.min())
        far, near = max(top, bottom, 1e-30), min(top, bottom)
        factor = 128 / far if near <= 0 else min(128 / near, 256 / far)  # on both sides, or exp might not overflow
        return x * max(4.0, factor)

    def centred(x: torch.Tensor) -> torch.Tensor:
        if sparse(x) or x.numel() < 2:
            return peak(x)
        wide = x.double()  # an eighth of the spread remains, or a sum of all elements would cancel to nothing
        return peak((wide - wide.mean() + wide.std() / 8).to(x.dtype))

    def shifted(x: torch.Tensor) -> torch.Tensor:
        if sparse(x) or x.numel() < 2:
            return x * 0.1
        mean, spread = float(x.mean(dtype=torch.float64)), float(x.std())  # no copy of twice the size
        return x * 0.1 if abs(mean) > 10 * spread else x * 0.1 + 4 * spread  # far from zero already: scale only

    def sunk(x: torch.Tensor) -> torch.Tensor:
        return -shifted(x)

    steps: dict[str, list[Any]] = {
        WIDE: [centred, peak, scaled(4)],
        SHIFTED: [shifted, scaled(0.1), scaled(0.5)],
        SUNK: [sunk],
    }
    for step in steps[kind]:
        yield [transform(v, step) for v in inputs]


def reshaped(inputs: list[Any], multiple: int = 1) -> Iterator[list[Any]]:
    """The inputs at about half the batch, then at about half the length of the last axis; odd, or a multiple.

    The axis is that of the first tensor; every tensor whose axis has the same length is cut with it.

    >>> [list(x.shape) for [x] in reshaped([torch.zeros(16, 8)])]
    [[9, 8], [16, 5]]
    >>> [list(x.shape) for [x] in reshaped([torch.zeros(100, 8)], 16)]
    [[48, 8], [100, 5]]
    """
    first = next((t for t in inputs if isinstance(t, torch.Tensor) and t.dim()), None)
    if first is None:
        return
    for axis in (0, -1) if first.dim() > 1 else (0,):
        length = first.shape[axis]
        if length > 1:
            half = (length // 2) | 1 if length > 2 else 1
            kept = length // 2 // multiple * multiple if length >= 2 * multiple > 2 else half
            yield [
                v.narrow(axis, 0, kept).clone(memory_format=torch.contiguous_format)
                if isinstance(v, torch.Tensor) and v.dim() and v.shape[axis] == length
                else children.copy_tree(v)
                for v in inputs
            ]


def sparse(x: torch.Tensor) -> bool:
    """More than a twentieth of the elements are exactly zero."""
    return int((x == 0).sum()) > 0.05 * x.numel()


def transform(value: Any, step: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a step to every floating tensor of a tree, keeping types and strides; whole numbers are labels and stay."""
    if isinstance(value, torch.Tensor):
        if value.is_floating_point() and value.numel() and not bool((value == value.round()).all()):
            return torch.empty_like(value).copy_(step(value).to(value.dtype))
        return value.clone()
    if isinstance(value, list | tuple):
        return type(value)([transform(v, step) for v in value])
    if isinstance(value, dict):
        return {k: transform(v, step) for k, v in value.items()}
    return value
