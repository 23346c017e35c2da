"""What a candidate asks of `load_inline` or `load`: the sources and flags, apart from the name it gives them.

Source: issue 4, item 1; report P13 (two candidates that share a name must not share code).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kzlib.records import content_id


class BadRequest(ValueError):  # noqa: N818 - named for what happened
    """The call's arguments are not ones PyTorch would take, or hold a flag that reaches outside the build."""


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension to build. `cpp` and `cuda` are whole source texts, `functions` pairs of name and docstring.

    >>> one = Extension(cpp=("int f();",), cuda=(), functions=(("f", "f"),))
    >>> one.key == Extension(cpp=("int f();",), cuda=(), functions=(("f", "f"),)).key
    True
    """

    cpp: tuple[str, ...]
    cuda: tuple[str, ...]
    functions: tuple[tuple[str, str], ...] | None = None
    cflags: tuple[str, ...] = ()
    cuda_flags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    implicit_headers: bool = True
    error_handling: bool = True

    @property
    def key(self) -> str:
        """Content address of the request; the builder adds tool versions and the target."""
        return content_id("extension", json.dumps(self.to_json(), sort_keys=True))

    def to_json(self) -> dict[str, Any]:
        return {
            "cpp": self.cpp, "cuda": self.cuda, "functions": self.functions, "cflags": self.cflags,
            "cuda_flags": self.cuda_flags, "ldflags": self.ldflags, "implicit_headers": self.implicit_headers,
            "error_handling": self.error_handling,
        }  # fmt: skip

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Extension:
        """The inverse of `to_json`; `BadRequest` where a field is not text."""
        functions = row["functions"]
        return Extension(
            _texts(row["cpp"]), _texts(row["cuda"]),
            None if functions is None else tuple((_text(name), _text(doc)) for name, doc in functions),
            _texts(row["cflags"]), _texts(row["cuda_flags"]), _texts(row["ldflags"]),
            bool(row["implicit_headers"]), bool(row["error_handling"]),
        )  # fmt: skip


# The parameters of PyTorch's functions, in order.
INLINE_PARAMETERS = (
    "name", "cpp_sources", "cuda_sources", "sycl_sources", "functions", "extra_cflags", "extra_cuda_cflags",
    "extra_sycl_cflags", "extra_ldflags", "extra_include_paths", "build_directory", "verbose", "with_cuda", "with_sycl",
    "is_python_module", "with_pytorch_error_handling", "keep_intermediates", "use_pch", "no_implicit_headers",
)  # fmt: skip
LOAD_PARAMETERS = (
    "name", "sources", "extra_cflags", "extra_cuda_cflags", "extra_sycl_cflags", "extra_ldflags", "extra_include_paths",
    "build_directory", "verbose", "with_cuda", "with_sycl", "is_python_module", "is_standalone", "keep_intermediates",
)  # fmt: skip


def bind(parameters: Sequence[str], positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name. `BadRequest` for a name PyTorch does not know."""
    if len(positional) > len(parameters):
        raise BadRequest("too many arguments in the call that builds the extension")
    arguments = dict(zip(parameters, positional, strict=False))
    for name, value in named.items():
        if name not in parameters or name in arguments:
            raise BadRequest(f"load_inline() got an unexpected argument {name!r}")
        arguments[name] = value
    return arguments


def inline_request(arguments: Mapping[str, Any]) -> Extension:
    """The extension a `load_inline` call asks for, from its arguments by name.

    >>> inline_request({"name": "m", "cpp_sources": "int f();", "functions": ["f"]}).functions
    (('f', 'f'),)
    """
    if "name" not in arguments or "cpp_sources" not in arguments:
        raise BadRequest("load_inline() needs a name and cpp_sources")
    if arguments.get("sycl_sources"):  # the fourth place, where PyTorch before 2.7 had the functions
        raise BadRequest("load_inline() got SYCL sources: write functions=[...] where you mean the functions")
    functions = arguments.get("functions")
    pairs: list[tuple[Any, Any]] | None = None
    if isinstance(functions, str):
        pairs = [(functions, functions)]
    elif isinstance(functions, dict):
        pairs = list(functions.items())
    elif isinstance(functions, list):
        pairs = [(name, name) for name in functions]
    elif functions is not None:
        raise BadRequest(f"Expected 'functions' to be a list or dict, but was {type(functions).__name__}")
    return Extension(
        cpp=_sources(arguments.get("cpp_sources")),
        cuda=_sources(arguments.get("cuda_sources")),
        functions=None if pairs is None else tuple((_text(name), _text(doc)) for name, doc in pairs),
        cflags=_texts(arguments.get("extra_cflags") or ()),
        cuda_flags=_texts(arguments.get("extra_cuda_cflags") or ()),
        ldflags=_texts(arguments.get("extra_ldflags") or ()),
        implicit_headers=not arguments.get("no_implicit_headers", False),
        error_handling=bool(arguments.get("with_pytorch_error_handling", True)),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"expected text in the call that builds the extension, got {type(value).__name__}")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise BadRequest("expected a list of texts in the call that builds the extension")
    return tuple(_text(value) for value in values)


def _sources(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else _texts(value)


# Flags that make a compiler read, run or write something other than this build.
_OUTSIDE = re.compile(
    r"^(-o.*|-fplugin.*|-specs.*|-wrapper|-B.*|@.*|-x|-include|-imacros|-ccbin.*|--compiler-bindir.*|-MF|-MD|-M|-odir.*"
    r"|--output.*|-run|--run|-save-temps.*|--save-temps|--keep.*|-keep.*|-dump.*|--dryrun|-dryrun|-optf.*|--options-file.*"
    r"|-ldir.*|-time.*|--time.*|-E|-S|-c|-dc|-dw|-lib|-link|-fdump.*|-auxbase.*|--generate-dependencies.*|-T|--script.*)$"
)


def checked_flags(flags: Sequence[str]) -> list[str]:
    """The flags, split at blanks as a shell would. `BadRequest` names a flag that reaches outside the build.

    >>> checked_flags(["-O3 --use_fast_math", "-Xptxas", "-v"])
    ['-O3', '--use_fast_math', '-Xptxas', '-v']
    """
    words = [word for flag in flags for word in flag.split()]
    for word in words:
        for part in word.split(","):  # what follows -Xcompiler and -Wl is a list of flags
            bare = part.strip("'\"").removeprefix("-Xcompiler=").removeprefix("--compiler-options=")
            if _OUTSIDE.match(bare):
                raise BadRequest(f"the flag {bare} is not allowed in a candidate's build")
    return words
