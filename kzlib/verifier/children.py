"""What the reference's and the candidate's processes have in common: seeds, loading a source, state, error reports.

Runs only inside children of the fork server. Source: issue 3, items 2 and 4; reports P18, P47.
"""

from __future__ import annotations

import importlib.util
import linecache
import random
import re
import secrets
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

MAX_LINES = 5
MAX_TEXT = 400
_PIECE = 1 << 28  # bytes compared at once: a device compares by way of a mask of the same length


def seed_everything(seed: int) -> None:
    """Seed Python's, numpy's and torch's CPU generators (`torch.manual_seed` also walks the devices this has not)."""
    random.seed(seed)
    np.random.seed(seed % (1 << 32))  # noqa: NPY002 - task code may use the legacy generator
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def load_source(source: str, role: str) -> tuple[ModuleType, str]:
    """Import a text as a real file of a unique name in the current folder (Triton reads kernels from their file)."""
    name = f"{role}_{secrets.token_hex(6)}"
    path = Path.cwd() / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{role} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    linecache.checkcache(str(path))
    spec.loader.exec_module(module)
    return module, str(path)


def describe(error: BaseException, filename: str | None, role: str) -> dict[str, Any]:
    """An exception as type, message and the lines of the generated file it came through, without our folder names."""
    text = clean(str(error), filename, role)
    rows: list[str] = []
    if isinstance(error, SyntaxError) and error.lineno:
        rows = [f"line {error.lineno}: {(error.text or '').strip()}"[:MAX_TEXT]]
        text = error.msg or text
    if filename and not rows:
        causes = [error]
        while (cause := causes[-1].__cause__) is not None and cause not in causes:
            causes.append(cause)
        for cause in reversed(causes):  # the innermost cause that went through the generated file
            frames = traceback.extract_tb(cause.__traceback__)
            rows = rows or [
                f"line {f.lineno}: {(f.line or '').strip()}"[:MAX_TEXT] for f in frames if f.filename == filename
            ]
    return {"kind": type(error).__name__, "message": text[:MAX_TEXT], "lines": rows[-(MAX_LINES - 1) :]}


def clean(text: str, filename: str | None, role: str) -> str:
    """Text with our file and folder names taken out."""
    if filename:
        text = text.replace(filename, f"{role}.py").replace(Path(filename).stem, role)
        text = text.replace(str(Path(filename).parent), "")
    return re.sub(r"(/[\w.+-]+){2,}/([\w.+-]+)", r"\2", text).strip()


def shake_initialisers(seed: int) -> None:
    """Make `ones_`, `zeros_` and `constant_` of `torch.nn.init` draw near their value instead of exactly it.

    A task whose biases are all zero and norm scales all one would pass kernels that leave these out (catalogue B13).
    Both sides draw the same values, because the draw depends on the seed, the shape and the order of calls only.
    """
    init = torch.nn.init
    generator = torch.Generator("cpu").manual_seed(seed)

    def near(tensor: torch.Tensor, val: float) -> torch.Tensor:
        with torch.no_grad():
            if not tensor.is_floating_point():
                return tensor.fill_(val)
            noise = torch.rand(tensor.shape, generator=generator, device="cpu") * 0.5 - 0.25
            return tensor.copy_((noise + val).to(tensor.dtype))

    init.ones_ = lambda tensor: near(tensor, 1.0)
    init.zeros_ = lambda tensor: near(tensor, 0.0)
    init.constant_ = near


def shake_constants(model: torch.nn.Module, seed: int) -> None:
    """Move every parameter and running statistic whose elements are all equal a little off its value, in place."""
    generator = torch.Generator("cpu").manual_seed(seed)
    for tensor in all_state(model).values():
        if tensor.is_floating_point() and tensor.numel() and bool((tensor == tensor.flatten()[0]).all()):
            noise = torch.rand(tensor.shape, generator=generator, device="cpu") * 0.5 - 0.25
            with torch.no_grad():
                tensor.add_(noise.to(tensor))


def all_state(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, buffers outside the state dict included."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def write_buffers(model: torch.nn.Module, buffers: dict[str, torch.Tensor]) -> None:
    """Put contents back into a model's buffers, in place."""
    with torch.no_grad():
        for name, tensor in model.named_buffers():
            if name in buffers:
                tensor.copy_(buffers[name])


def loose_tensors(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors a module holds as plain attributes, or in lists, tuples and dicts of its attributes."""
    for prefix, module in model.named_modules():
        for name, value in list(vars(module).items()):
            if name.startswith("_") and name in ("_parameters", "_buffers", "_modules"):
                continue
            values = (
                value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else (value,)
            )
            for item in values:
                if isinstance(item, torch.Tensor):
                    yield (f"{prefix}.{name}" if prefix else name), item


def load_state(model: torch.nn.Module, state: dict[str, torch.Tensor]) -> dict[str, Any]:
    """Copy a reference's weights in: by name, then by shape in order of definition.

    Returns what was left: `unmatched` names of the reference, `loose` tensors made outside its state (they may
    be prepared from weights, so the judge then compares with the initial weights, which both sides drew alike).
    """
    own = all_state(model)
    loose = [(n, t) for n, t in loose_tensors(model) if not any(t is s for s in own.values())]
    mapping: dict[str, str] = {}
    rest = {}
    with torch.no_grad():
        for name, value in state.items():
            target = own.get(name)
            if target is not None and target.shape == value.shape:
                target.copy_(value.to(target.dtype))
                mapping[name] = name
            else:
                rest[name] = value
        free = {n: t for n, t in own.items() if n not in mapping}
        unmatched = []
        for name, value in rest.items():
            found = next((n for n, t in free.items() if t.shape == value.shape), None)
            if found is None:
                unmatched.append(name)
                continue
            free.pop(found).copy_(value)
            mapping[name] = found
    return {"unmatched": unmatched, "loose": len(loose), "extra": sorted(free), "mapping": mapping}


class Guarded:
    """Tensors in storages of their own exact size, between bands of a pattern that is NaN as a float.

    `write` puts fresh contents under the same pointers; `intact` tells whether the bands still stand.
    """

    BAND = 256

    def __init__(self, values: list[Any]) -> None:
        self.memory: list[tuple[np.ndarray, int, int]] = []
        self.values = [self._guard(v) for v in values]

    def _guard(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.numel():
            size = value.numel() * value.element_size()
            memory = np.full(size + 3 * self.BAND, 0xFF, dtype=np.uint8)
            start = self.BAND + (-memory.ctypes.data - self.BAND) % self.BAND
            self.memory.append((memory, start, size))
            flat = torch.frombuffer(memory.data, dtype=value.dtype, count=value.numel(), offset=start)
            guarded = flat.as_strided(value.shape, value.stride())
            guarded.copy_(value)
            return guarded
        if isinstance(value, list | tuple):
            return type(value)([self._guard(v) for v in value])
        if isinstance(value, dict):
            return {k: self._guard(v) for k, v in value.items()}
        return value

    def write(self, values: list[Any]) -> list[Any]:
        """Fresh contents; where a shape or structure changed, fresh storage too."""
        if len(values) != len(self.values) or not all(map(_same_form, self.values, values)):
            self.__init__(values)  # type: ignore[misc]
        else:
            for mine, value in zip(self.values, values, strict=True):
                _write(mine, value)
            self.values = [v if not isinstance(v, torch.Tensor | list | tuple | dict) else m
                           for m, v in zip(self.values, values, strict=True)]  # fmt: skip
        return self.values

    def intact(self) -> bool:
        """True while nobody wrote into a band."""
        return all((m[:s] == 0xFF).all() and (m[s + n :] == 0xFF).all() for m, s, n in self.memory)


def _same_form(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same_form, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same_form(a[k], b[k]) for k in a)
    return type(a) is type(b)


def _write(mine: Any, value: Any) -> None:
    if isinstance(mine, torch.Tensor):
        mine.copy_(value)
    elif isinstance(mine, list | tuple):
        for a, b in zip(mine, value, strict=True):
            _write(a, b)
    elif isinstance(mine, dict):
        for key in mine:
            _write(mine[key], value[key])


def copy_tree(value: Any) -> Any:
    """A deep copy of nested containers with cloned tensors (strides kept)."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, list | tuple):
        return type(value)([copy_tree(v) for v in value])
    if isinstance(value, dict):
        return {k: copy_tree(v) for k, v in value.items()}
    return value


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Every tensor of a tree, depth first."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_of(v)] if isinstance(value, list | tuple) else []


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal shape, type and bits (NaN equals the same NaN)."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.numel() == 0:
        return True
    one, two = a.detach().contiguous().reshape(-1), b.detach().contiguous().reshape(-1)
    pieces = zip(one.view(torch.uint8).split(_PIECE), two.view(torch.uint8).split(_PIECE), strict=True)
    return all(torch.equal(a, b) for a, b in pieces)
