"""Watching and repairing Triton's interpreter, inside the child that runs a candidate on a CPU.

`install()` wraps the interpreter once, before any fork: every load, store and atomic of every kernel is checked against
the storages of its arguments, counted, and tracked for conflicts between programs (which run one after another here and
at the same time on a GPU). bf16, libdevice and several-config autotune, which the stock interpreter gets wrong or
refuses, are made right. Private Triton interfaces: read against triton 3.6 and 3.7.
Source: issue 3, item 5; reports P10, P11.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from typing import Any

import ml_dtypes
import numpy as np
import torch
import triton.language as tl
import triton.runtime.interpreter as ti
from triton.language.semantic import TritonSemantic
from triton.runtime.autotuner import Autotuner

from kzlib.verifier import libdevice
from kzlib.verifier.launches import Fault, Launch, Recorder

RECORDER = Recorder()
BF16 = np.dtype(ml_dtypes.bfloat16)


class KernelError(Exception):
    """A kernel's body could not be carried out: on a GPU its compilation would fail. Holds the first cause."""


class Unsupported(Exception):  # noqa: N818 - the outcome's name
    """The interpreter cannot run this feature; a GPU may. Never a verdict against the candidate."""


_installed = False


def install() -> None:
    """Wrap the interpreter. Called once, in the fork server; children inherit it."""
    global _installed  # noqa: PLW0603 - one interpreter a process
    if _installed:
        return
    _installed = True
    _patch_language_once()
    _describe_types_once()
    _wrap_memory(ti.InterpreterBuilder)
    _wrap_launch()
    _skip_overflow_checks()
    _repair_bf16()
    _repair_conditions()
    _repair_libdevice()
    _repair_autotune()


def _patch_language_once() -> None:
    """Keep `triton.language` patched for the life of the process: the stock code redoes it at each launch (3-6 ms)."""

    def both() -> None: ...

    functions = {"tl": tl, "core": tl.core}
    probe = types.FunctionType(both.__code__, functions)
    ti._patch_lang(probe)

    class _Scope:
        def restore(self) -> None: ...

    scope = _Scope()
    ti._patch_lang = lambda fn: scope
    # Triton 3.6 converts a scalar's array of one element as it is, which newer numpy refuses: every loop bound failed.
    tl.tensor.__index__ = lambda self: int(self.handle.data.squeeze())


def _describe_types_once() -> None:
    """Every intermediate value describes its shape anew in the stock classes, and two values of one shape are compared
    axis by axis, at a third of the time of a small kernel: a description is made at its first use and shared, since
    nothing changes it later, and what shares one needs no broadcasting."""
    block_init, tensor_init, broadcast = tl.block_type.__init__, tl.tensor.__init__, TritonSemantic.broadcast_impl_value
    shapes: dict[tuple[int, ...], dict[str, Any]] = {}
    names: dict[tuple[str, tuple[int, ...]], str] = {}
    tensors: dict[str, dict[str, Any]] = {}

    def init_block(self: Any, element_ty: Any, shape: Any) -> None:
        sizes = tuple([s.value if isinstance(s, tl.constexpr) else s for s in shape])
        key = (element_ty.name, sizes)
        if key in names:
            vars(self).update(shapes[sizes], element_ty=element_ty, name=names[key])
            return
        block_init(self, element_ty, shape)
        if all(type(s) is int for s in sizes):
            names[key] = self.name
            vars(self).update(shapes.setdefault(sizes, {"shape": self.shape, "numel": self.numel}))

    def init_tensor(self: Any, handle: Any, type: Any) -> None:
        if type.name not in tensors:
            tensor_init(self, handle, type)
            tensors[type.name] = {n: v for n, v in vars(self).items() if n not in ("handle", "type", "dtype")}
        vars(self).update(tensors[type.name], handle=handle, type=type, dtype=type.scalar)

    def broadcast_once(self: Any, lhs: Any, rhs: Any) -> Any:
        if lhs.type.is_block() and rhs.type.is_block() and lhs.type.shape is rhs.type.shape:
            return lhs, rhs
        return broadcast(self, lhs, rhs)

    tl.block_type.__init__, tl.tensor.__init__ = init_block, init_tensor
    TritonSemantic.broadcast_impl_value = broadcast_once


def _mask_of(mask: Any, like: np.ndarray) -> np.ndarray | None:
    if mask is None:
        return None
    data = mask if isinstance(mask, np.ndarray) else mask.data
    data = np.asarray(data, dtype=bool)
    if data.all():
        return None
    return np.broadcast_to(data, like.shape)


def _size(pointer: Any) -> int:
    return max(1, pointer.get_element_ty().primitive_bitwidth // 8)


def _wrap_memory(builder: Any) -> None:
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas, dot = builder.create_atomic_rmw, builder.create_atomic_cas, builder.create_dot
    gather_assert = builder.create_assert

    def create_masked_load(self: Any, ptrs: Any, mask: Any, other: Any, *rest: Any, **kw: Any) -> Any:
        launch = RECORDER.current
        if launch is not None:
            launch.access("load", ptrs.data, _mask_of(mask, ptrs.data), _size(ptrs), self.grid_idx)
        result = load(self, ptrs, mask, other, *rest, **kw)
        if launch is not None and launch.copies:
            launch.loaded.append(result.data)
        return result

    def create_masked_store(self: Any, ptrs: Any, value: Any, mask: Any, *rest: Any, **kw: Any) -> Any:
        launch = RECORDER.current
        if launch is not None:
            active = _mask_of(mask, ptrs.data)
            launch.access("store", ptrs.data, active, _size(ptrs), self.grid_idx, value.data)
            if RECORDER.corrupt:
                value = ti.TensorHandle(corrupted(value.data), value.dtype)
        return store(self, ptrs, value, mask, *rest, **kw)

    def create_atomic_rmw(self: Any, op: Any, ptr: Any, val: Any, mask: Any, *rest: Any, **kw: Any) -> Any:
        launch = RECORDER.current
        if launch is not None:
            launch.access("atomic", ptr.data, _mask_of(mask, ptr.data), _size(ptr), self.grid_idx)
            if RECORDER.corrupt:
                val = ti.TensorHandle(corrupted_update(op.name, val.data), val.dtype)
        return rmw(self, op, ptr, val, mask, *rest, **kw)

    def create_atomic_cas(self: Any, ptr: Any, *rest: Any, **kw: Any) -> Any:
        launch = RECORDER.current
        if launch is not None:
            launch.access("atomic", ptr.data, None, _size(ptr), self.grid_idx)
        return cas(self, ptr, *rest, **kw)

    def create_dot(self: Any, a: Any, b: Any, d: Any, *rest: Any, **kw: Any) -> Any:
        launch = RECORDER.current
        if launch is not None:
            launch.flops += 2 * a.data.size * b.data.shape[-1]
            launch.copies = False
        if a.data.dtype == BF16 or b.data.dtype == BF16:  # products of bf16 are exact in fp32, as on the tensor cores
            a = ti.TensorHandle(a.data.astype(np.float32), tl.float32)
            b = ti.TensorHandle(b.data.astype(np.float32), tl.float32)
        return dot(self, a, b, d, *rest, **kw)

    def create_assert(self: Any, condition: Any, message: Any) -> Any:
        if not np.asarray(condition.data if hasattr(condition, "data") else condition).all():
            raise Fault("assert", f"a device_assert failed: {message}")
        return gather_assert(self, True, message)

    def unsupported(self: Any, *_: Any, **__: Any) -> Any:
        raise Unsupported("inline assembly needs a GPU")

    builder.create_masked_load, builder.create_masked_store = create_masked_load, create_masked_store
    builder.create_atomic_rmw, builder.create_atomic_cas = create_atomic_rmw, create_atomic_cas
    builder.create_dot, builder.create_assert = create_dot, create_assert
    builder.create_inline_asm = unsupported


def corrupted(data: np.ndarray) -> np.ndarray:
    """Another value for every element, of the same type: what a kernel that does nothing useful would not miss."""
    if data.dtype == np.bool_:
        return ~data
    if np.issubdtype(data.dtype, np.integer):
        return (data + 1).astype(data.dtype)
    return (data * -2 - 1).astype(data.dtype)


def corrupted_update(op: str, data: np.ndarray) -> np.ndarray:
    """As `corrupted`, for an atomic: whole numbers are pushed the way the update moves them (floats are compared as
    whole numbers inside Triton); exchanges are left alone, because locks are released by them."""
    if not np.issubdtype(data.dtype, np.integer) or op == "ADD":
        return corrupted(data)
    if op == "XCHG":
        return data
    step = data.dtype.type(1 << min(22, 8 * data.dtype.itemsize - 3))
    with np.errstate(all="ignore"):
        return data - step if "MIN" in op or op == "AND" else data + step


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, tuple | list):
            found += _tensors(value)
        elif hasattr(value, "block_shape") and hasattr(value, "base"):
            found += _tensors([value.base])
        elif isinstance(value, torch.Tensor):
            found.append(value)
        elif hasattr(value, "base") and hasattr(value, "data_ptr"):
            found += _tensors([value.base])
    return found


def _wrap_launch() -> None:
    original = ti.GridExecutor.__call__

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        tensors = _tensors([*args, *kwargs.values()])
        launch = Launch(self.fn.__name__, self.fn.__code__.co_filename, tensors, RECORDER)
        if any(t.dtype in (torch.int64, torch.uint64) for t in tensors):
            launch.pointer_tables = True
        RECORDER.begin(launch)
        try:
            with np.errstate(all="ignore"):
                return original(self, *args, **kwargs)
        except ti.InterpreterError as error:
            cause = first_cause(error)
            if isinstance(cause, Fault | Unsupported | MemoryError):
                raise cause from None
            raise KernelError(f"{type(cause).__name__}: {cause}") from cause
        finally:
            RECORDER.end()

    ti.GridExecutor.__call__ = call


def first_cause(error: BaseException) -> BaseException:
    """The exception at the bottom of a chain of interpreter wrappers."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _skip_overflow_checks() -> None:
    """Whole-number overflow is checked by an assertion that does nothing outside debug builds, at half of the time."""
    fields = {
        f.name: getattr(ti.interpreter_builder.options, f.name) for f in dataclasses.fields(ti.InterpreterOptions)
    }
    ti.interpreter_builder.options = ti.InterpreterOptions(**{**fields, "sanitize_overflow": False})


def _repair_bf16() -> None:
    """Hold bf16 as a 2-byte float instead of as uint16, so that arithmetic, casts and reductions round as bf16."""
    original = ti._get_np_dtype
    known: dict[str, np.dtype] = {"bf16": BF16}  # the stock function builds a table of all types at every call

    def get_np_dtype(kind: Any) -> np.dtype:
        element = kind.element_ty if isinstance(kind, tl.block_type) else kind
        if isinstance(element, tl.pointer_type):
            return original(element)
        if element.name not in known:
            known[element.name] = original(element)
        return known[element.name]

    ti._get_np_dtype = get_np_dtype
    cast = ti.InterpreterBuilder.cast_impl

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        if tl.bfloat16 in (src.dtype.scalar, dst_type.scalar):
            return ti.TensorHandle(src.data.astype(get_np_dtype(dst_type.scalar)), dst_type.scalar)
        return cast(self, src, dst_type)

    ti.InterpreterBuilder.cast_impl = cast_impl
    ti.InterpreterBuilder.get_bf16 = lambda self, value: ti.TensorHandle(np.array([value], dtype=BF16), tl.bfloat16)


def _repair_conditions() -> None:
    """A comparison of scalars stays a condition when it is spread over a block.

    The stock interpreter gives a comparison the type of its operands: spread, it became numbers, which `&` refuses.
    """

    def full(shape: Any, arg: Any) -> Any:
        data = np.asarray(arg.data)
        kind = data.dtype if data.dtype == np.bool_ else ti._get_np_dtype(arg.dtype)
        return ti.TensorHandle(np.full(shape, data.reshape(-1)[0], dtype=kind), arg.dtype.scalar)

    ti.InterpreterBuilder.create_splat = lambda self, ret_ty, arg: full(ret_ty.shape, arg)
    ti.InterpreterBuilder.create_unsplat = lambda self, arg: full((1,), arg)


def _repair_libdevice() -> None:
    """`tl.extra.libdevice` and `tl.extra.cuda.libdevice` through numpy and torch (see `libdevice`)."""
    from triton.language.extra import libdevice as stubs
    from triton.language.extra.cuda import libdevice as cuda

    def create(self: Any, lib: str, path: str, symbol: str, arguments: Any, kind: Any, pure: bool) -> Any:
        scalar = kind.scalar
        function = libdevice.function(symbol)
        if function is None:
            raise Unsupported(f"libdevice {symbol} has no interpreter form")
        data = function(*(a.data for a in arguments))
        return ti.TensorHandle(np.asarray(data).astype(ti._get_np_dtype(scalar)), scalar)

    ti.InterpreterBuilder.create_extern_elementwise = create
    for name, member in inspect.getmembers(cuda, inspect.isfunction):
        if name.startswith("_") or member.__module__ != cuda.__name__:
            continue

        def bound(*args: Any, member: Any = member, **kwargs: Any) -> Any:
            kwargs.pop("_semantic", None)
            return member(*args, **kwargs, _semantic=ti.interpreter_semantic)

        setattr(cuda, name, bound)
        if hasattr(stubs, name):
            setattr(stubs, name, bound)


def _repair_autotune() -> None:
    """Several configs: each is run once on the real arguments, as on a GPU, and the one of least modelled time wins."""

    def bench(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
        before = len(RECORDER.launches)
        current = dict(meta, **config.all_kwargs())
        names = {**self.nargs, **current}
        if meta.keys() & config.kwargs.keys():
            raise ValueError("Conflicting meta-parameters: a config sets what the call passes")
        if config.pre_hook:
            config.pre_hook(names)
        self.pre_hook(names)
        self.fn.run(*args, **current)
        self.post_hook(names, exception=None)
        tuned = RECORDER.launches[before:]
        for launch in tuned:
            launch.tuning = True
        cost = sum(launch.loaded_bytes + launch.stored_bytes for launch in tuned) + 1.0
        return [cost, cost, cost]

    Autotuner._bench = bench


def warm_up() -> None:
    """Install the wrappers and run one tiny kernel, so that no child pays for first-use work."""
    install()
    from kzlib.verifier import warm_kernel

    warm_kernel.run()
    RECORDER.reset()
