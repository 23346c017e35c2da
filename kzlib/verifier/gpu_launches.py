"""Launches of a candidate's own kernels on a GPU: counted, and left out on request. Runs in the candidate's process.

Source: DESIGN section 6, point 6; verifiers.md C1-C10.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch

from kzlib.verifier.gpu_watch import Watch


class Launches:
    """Counts launches of the candidate's own kernels, and can leave them out.

    Triton kernels are counted at `JITFunction.run`, lean extensions where they launch, NVRTC kernels at the call.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.skip = False
        self.other_streams = False
        self.watching: Watch | None = None  # while one call is looked at launch by launch
        self.sealed = True  # False when a kernel may run that nothing here can leave out
        self.extensions: list[ctypes.CDLL] = []
        self.current = None  # read by OpLog
        self.storages: dict[int, int] = {}
        self._extension_seen = 0

    def watch(self) -> None:
        """Put the counters in place; before the candidate is imported."""
        from torch.cuda import _utils
        from triton.runtime.jit import JITFunction

        run, call = JITFunction.run, _utils._CudaKernel.__call__

        def counted_run(function: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("warmup"):
                return run(function, *args, **kwargs)
            self._note(getattr(function, "__name__", "kernel"), args, kwargs)
            if self.skip:
                return None
            values = (*args, *kwargs.values())
            return self._carried_out(function, values, lambda: run(function, *args, **kwargs))

        def counted_call(
            kernel: Any, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), args: Any = None, *rest: Any, **named: Any
        ) -> Any:
            self._note("nvrtc kernel", args or (), {})
            if self.skip:
                return None
            return self._carried_out(kernel, args or (), lambda: call(kernel, grid, block, args, *rest, **named))

        function_type: Any = JITFunction
        kernel_type: Any = _utils._CudaKernel
        function_type.run = counted_run
        kernel_type.__call__ = counted_call

    def _carried_out(self, kernel: Any, values: Iterable[Any], step: Callable[[], Any]) -> Any:
        if self.watching is None:
            return step()
        return self.watching.around(getattr(kernel, "__name__", "nvrtc kernel"), values, step)

    def add_extension(self, path: str, kind: str, module: Any) -> None:
        """Watch a loaded extension: its launches, and what its functions change."""
        library = ctypes.CDLL(path) if kind == "lean" else None
        if library is not None:
            self.extensions.append(library)
        else:
            self.sealed = False
        for name, function in list(vars(module).items()):
            if callable(function) and not isinstance(function, type) and not name.startswith("__"):
                setattr(module, name, self._function(name, function, library))

    @staticmethod
    def _counter(library: ctypes.CDLL) -> ctypes.c_longlong:
        return ctypes.c_longlong.in_dll(library, "kz_launches")

    def _function(self, name: str, function: Callable[..., Any], library: ctypes.CDLL | None) -> Callable[..., Any]:
        @wraps(function, updated=())
        def called(*args: Any, **kwargs: Any) -> Any:
            watch = self.watching
            if watch is None:
                return function(*args, **kwargs)
            count = None if library is None else self._counter(library)
            before, seen = count.value if count is not None else -1, len(watch.rows)
            result = watch.around(name, (*args, *kwargs.values()), lambda: function(*args, **kwargs))
            if count is not None and count.value == before:
                del watch.rows[seen:]  # it launched nothing
            return result

        return called

    def set_skip(self, skip: bool) -> None:
        """Leave out every own kernel from now on, or no longer."""
        self.skip = skip
        for library in self.extensions:
            ctypes.c_int.in_dll(library, "kz_skip").value = int(skip)

    def take(self) -> list[dict[str, Any]]:
        """Launches since the last call."""
        rows, self.rows = self.rows, []
        total = sum(self._counter(library).value for library in self.extensions)
        rows += [launch_facts("extension kernel", 0)] * min(4096, total - self._extension_seen)
        self._extension_seen = total
        if not self.sealed and not rows:
            rows.append(launch_facts("kernel of a full extension", 0))
        return rows

    def _note(self, name: str, args: Any, kwargs: dict[str, Any]) -> None:
        if torch._C._cuda_getCurrentRawStream(0):
            self.other_streams = True
        values = (*args, *kwargs.values())
        size = sum(v.numel() * v.element_size() for v in values if isinstance(v, torch.Tensor))
        if len(self.rows) < 100_000:
            self.rows.append(launch_facts(name, size))


def watched_facts(watch: Watch) -> list[dict[str, Any]]:
    """The launches of a watched call, with what each of them stored.

    A launch that changed nothing visible says nothing while others did change something; where none did, or where
    some were not looked at, nothing is known.
    """
    visible = any(row["changed"] for row in watch.rows)
    rows = []
    for row in watch.rows:
        known = {"copy": row["line"] is not None, "line": row["line"], "stores": row["changed"]} if visible else {}
        rows.append({**launch_facts(row["name"], 0), **known})
    return rows + [launch_facts("not looked at", 0)] * min(1, watch.missed)


def launch_facts(name: str, size: int) -> dict[str, Any]:
    """One launch in the form of the interpreter's records; what a GPU does not show is left neutral."""
    return {
        "name": name,
        "programs": 0,
        "loaded": size,
        "stored": 0,
        "unique": size,
        "flops": 0,
        "copy": False,
        "stores": 1,
        "conflict": "",
        "tuning": False,
    }
