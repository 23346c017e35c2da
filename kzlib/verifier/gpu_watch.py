"""One call of a candidate under observation, on a device: what each of its launches changed, and where it must not be.

Inputs end where mapped memory ends, so that reading or writing past them is an error of the device; tensors that the
candidate makes lie between bands of a pattern; and around each launch the tensors it was given are copied, so that
launches that only copy can be told from launches that compute. Never timed. Source: issue 3; verifiers.md B37, C8, C12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from kzlib.verifier import gpu_memory
from kzlib.verifier.gpu_lines import moved
from kzlib.verifier.wire import is_dense

ALIGN = 512  # bytes, as the library's own allocator
BAND = 8192  # bytes of pattern on both sides
ILLEGAL_ADDRESS = 700  # cudaErrorIllegalAddress
PATIENCE = 3.0  # seconds for copies and comparisons of one call; what is launched later is not looked at
# Operators that make a tensor and put nothing, or a constant, or random numbers into it.
MAKERS = frozenset({
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros",
    "ones", "ones_like", "new_ones", "full", "full_like", "new_full",
})  # fmt: skip


@dataclass
class Watch:
    """What is seen of one call. `outside` names the launch after which a band no longer held its pattern."""

    synchronize: Callable[[], Any]
    capturing: Callable[[], bool]  # into a graph: nothing may wait for the device meanwhile
    rows: list[dict[str, Any]] = field(default_factory=list)
    bands: list[tuple[torch.Tensor, int]] = field(default_factory=list)  # memory, bytes of the tensor inside
    outside: str = ""
    faulted: str = ""
    spent: float = 0.0
    missed: int = 0

    def around(self, name: str, values: Iterable[Any], step: Callable[[], Any]) -> Any:
        """Carry out one launch and note what it changed."""
        if self.spent > PATIENCE or self.capturing():
            self.missed += 1
            return step()
        start = perf_counter()
        tensors = tensors_in(values)
        with _disable_current_modes():
            before = [t.detach().clone() for t in tensors]
        self.spent += perf_counter() - start
        result = step()
        start = perf_counter()
        with _disable_current_modes():
            self._look(name, before, tensors, result)
        self.spent += perf_counter() - start
        return result

    def _look(self, name: str, before: list[torch.Tensor], tensors: list[torch.Tensor], result: Any) -> None:
        try:
            self.synchronize()
        except torch.AcceleratorError as error:
            if is_illegal_address(error):
                self.faulted = self.faulted or name
            raise
        known = {t.data_ptr() for t in tensors}
        made = [t for t in tensors_in([result]) if t.data_ptr() not in known]
        seen = moved(before, tensors, made)
        self.rows.append({"name": name, "changed": seen.changed, "line": seen.line})
        self.check(name)

    def check(self, name: str) -> None:
        """Look at the bands; `name` is what ran last."""
        if self.outside or not self.bands:
            return
        with _disable_current_modes():
            spoiled = [
                (part != gpu_memory.PATTERN).any()
                for memory, size in self.bands
                for part in (memory[:BAND], memory[BAND + size :])
            ]
            if bool(torch.stack(spoiled).any()):
                self.outside = name

    def banded(self, tensor: torch.Tensor, filled: bool) -> torch.Tensor:
        """The same tensor between bands; as it is where it is no plain block of memory."""
        size = tensor.numel() * tensor.element_size()
        if not size or self.capturing() or type(tensor) is not torch.Tensor or tensor.layout is not torch.strided:
            return tensor
        if not gpu_memory.on_device(tensor) or not is_dense(tensor.shape, tensor.stride()):
            return tensor
        memory = torch.empty(2 * BAND + size, dtype=torch.uint8, device=tensor.device).fill_(gpu_memory.PATTERN)
        inside = memory[BAND : BAND + size].view(tensor.dtype).as_strided(tensor.shape, tensor.stride())
        if filled:
            inside.copy_(tensor)
        self.bands.append((memory, size))
        return inside


class Banded(TorchDispatchMode):
    """While active, tensors that are made lie between bands."""

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    def make(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operator; give what it makes a place between bands."""
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[-1]
        if name in MAKERS and isinstance(result, torch.Tensor):
            with _disable_current_modes():
                return self.watch.banded(result, filled="empty" not in name)
        return result


# Set after the class is made, as in `ops`: the wrapper around one in the class body imports torch._dynamo.
Banded.__torch_dispatch__ = Banded.make  # type: ignore[method-assign, assignment]


class Fence:
    """Copies of inputs that end where the mapped memory of this process ends: what lies behind is nobody's.

    The memory stays, because generated code may keep a tensor of it.
    """

    def __init__(self, device: int) -> None:
        self.device = device
        self.blocks: dict[tuple[Any, ...], Any] = {}

    def placed(self, value: Any, at: tuple[Any, ...] = ()) -> Any:
        """A tree of inputs with its device tensors at the end of mapped memory. `gpu_memory.CudaError` where the driver
        gives none."""
        if isinstance(value, torch.Tensor) and gpu_memory.on_device(value):
            return self._tensor(value.detach(), at)
        if isinstance(value, list | tuple):
            return type(value)([self.placed(v, (*at, n)) for n, v in enumerate(value)])
        if isinstance(value, dict):
            return {k: self.placed(v, (*at, k)) for k, v in value.items()}
        return value

    def _tensor(self, tensor: torch.Tensor, at: tuple[Any, ...]) -> torch.Tensor:
        size = tensor.numel() * tensor.element_size()
        if not size or not is_dense(tensor.shape, tensor.stride()):
            return tensor
        whole = -(-size // 16) * 16  # a pointer that 16 divides, as before: Triton compiles for that
        key = (*at, whole)
        if key not in self.blocks:
            self.blocks[key] = gpu_memory.Block.make(self.device, whole, fenced=True)
        block = self.blocks[key]
        block.bytes().fill_(gpu_memory.PATTERN)
        place = block.view(block.size - whole, tensor.dtype, tensor.shape, tensor.stride())
        return place.copy_(tensor)


def is_illegal_address(error: BaseException) -> bool:
    """True for the device's own word that a kernel touched memory that is not there."""
    return isinstance(error, torch.AcceleratorError) and getattr(error, "error_code", None) == ILLEGAL_ADDRESS


def tensors_in(values: Iterable[Any]) -> list[torch.Tensor]:
    """Tensors among a launch's arguments, in lists, tuples and descriptors too; each once, none without elements."""
    found: dict[tuple[int, torch.Size], torch.Tensor] = {}
    for value in values:
        if isinstance(value, torch.Tensor):
            if value.numel() and value.layout is torch.strided:
                found.setdefault((value.data_ptr(), value.shape), value)
        elif isinstance(value, list | tuple | dict):
            inner = value.values() if isinstance(value, dict) else value
            found.update({(t.data_ptr(), t.shape): t for t in tensors_in(inner)})
        elif isinstance(base := getattr(value, "base", None), torch.Tensor):
            found.update({(t.data_ptr(), t.shape): t for t in tensors_in([base])})
    return list(found.values())
