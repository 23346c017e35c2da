"""Inside a candidate's process: PyTorch's extension builders replaced by ones that load what was built beforehand.

The candidate calls `load_inline(...)` as always and gets a module whose functions are the ones it wrote; nothing is
compiled here. Source: issue 4, item 1.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kzlib.verifier.extension import INLINE_PARAMETERS, LOAD_PARAMETERS, Extension, bind, inline_request

_STABLE = (
    "aoti_torch_new_tensor_handle",
    "aoti_torch_delete_tensor_object",
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_dim",
    "aoti_torch_get_numel",
    "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
    "aoti_torch_get_dtype",
    "aoti_torch_get_device_type",
    "aoti_torch_get_device_index",
    "aoti_torch_get_storage_offset",
    "aoti_torch_empty_strided",
    "aoti_torch_zero_",
)
_STREAM = "aoti_torch_get_current_cuda_stream"
_DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    9: "complex64",
    10: "complex128",
    11: "bool",
    15: "bfloat16",
    23: "float8_e5m2",
    24: "float8_e4m3fn",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
_FORMATS = {0: "contiguous_format", 1: "preserve_format", 2: "channels_last", 3: "channels_last_3d"}


class NotPrepared(RuntimeError):  # noqa: N818 - named for what happened
    """The candidate asks for an extension that was not built before it started."""


class NotBuilt(RuntimeError):  # noqa: N818 - named for what happened
    """The extension the candidate asks for did not compile; the message holds the compiler's lines."""


def load_glue(path: Path) -> types.ModuleType:
    """The loader module at `path`, connected to the PyTorch of this process."""
    import torch
    from torch._C import _aoti

    spec = importlib.util.spec_from_file_location(
        "kz_glue", path, loader=importlib.machinery.ExtensionFileLoader("kz_glue", str(path))
    )
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} cannot be loaded")
    glue = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(glue)
    folder = Path(torch.__file__).parent / "lib"
    cpu = ctypes.CDLL(str(folder / "libtorch_cpu.so"))
    addresses = [ctypes.cast(getattr(cpu, name), ctypes.c_void_p).value or 0 for name in _STABLE]
    stream = 0
    if (folder / "libtorch_cuda.so").exists():
        cuda = ctypes.CDLL(str(folder / "libtorch_cuda.so"))
        stream = ctypes.cast(getattr(cuda, _STREAM), ctypes.c_void_p).value or 0
    dtypes = {number: getattr(torch, name) for number, name in _DTYPES.items()}
    glue.setup(
        torch,
        torch.Tensor,
        _aoti.unsafe_alloc_void_ptr_from_tensor,
        _aoti.alloc_tensors_by_stealing_from_void_ptrs,
        dtypes,
        {dtype: number for number, dtype in dtypes.items()},
        {k: getattr(torch, v) for k, v in _FORMATS.items()},
        (*addresses, stream),
    )
    return glue


def load_library(glue: types.ModuleType, path: Path, kind: str, name: str) -> types.ModuleType:
    """A built extension as a module. `kind` is "lean" or "full"."""
    if kind == "full":
        from kzlib.verifier.full import MODULE

        spec = importlib.util.spec_from_file_location(
            MODULE, path, loader=importlib.machinery.ExtensionFileLoader(MODULE, str(path))
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    module = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module).update(glue.load(str(path)))
    return module


def replace_builders(answer: Callable[[Extension, str], Any]) -> None:
    """Put `answer(extension, name)` in the place of PyTorch's two JIT builders."""
    from torch.utils import cpp_extension

    def load_inline(*positional: Any, **named: Any) -> Any:
        arguments = bind(INLINE_PARAMETERS, positional, named)
        return answer(inline_request(arguments), str(arguments.get("name")))

    def load(*positional: Any, **named: Any) -> Any:
        arguments = bind(LOAD_PARAMETERS, positional, named)
        return answer(load_request(arguments), str(arguments.get("name")))

    cpp_extension.load_inline = load_inline
    cpp_extension.load = load
    sys.modules["torch.utils"].cpp_extension = cpp_extension  # type: ignore[attr-defined]


def load_request(arguments: Mapping[str, Any]) -> Extension:
    """The extension a `load` call asks for; its source files are read here, where the candidate wrote them."""
    from kzlib.verifier.extension import BadRequest

    sources = arguments.get("sources")
    files = [Path(s) for s in ([sources] if isinstance(sources, str) else list(sources or ()))]
    try:
        texts = [(file.suffix, file.read_text()) for file in files]
    except OSError as error:
        raise BadRequest(f"a source of load() cannot be read ({error.strerror})") from None
    return inline_request(
        {
            "name": arguments.get("name"),
            "cpp_sources": [text for suffix, text in texts if suffix not in (".cu", ".cuh")],
            "cuda_sources": [text for suffix, text in texts if suffix in (".cu", ".cuh")],
            "extra_cflags": arguments.get("extra_cflags"),
            "extra_cuda_cflags": arguments.get("extra_cuda_cflags"),
            "extra_ldflags": arguments.get("extra_ldflags"),
            "no_implicit_headers": True,
        }
    )
