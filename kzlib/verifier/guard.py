"""An audit hook that ends a candidate's process when its code reaches for the process around it.

Values cannot be forged, because expected ones are elsewhere; evidence is gathered in the candidate's process and can be
attacked. This closes the usual ways: walking frames, the garbage collector's lists, ctypes, tracing, importing the
verifier, replacing code objects. What it cannot see (an attribute read such as `function.__globals__`) is named in
docs/verifier.md. Source: verifiers.md B2, B3, D10; issue 3, item 4.
"""

from __future__ import annotations

import os
import sys
from typing import Any

EXIT_CODE = 77  # of a process ended here; the judge reads it as `cheat`

_ALWAYS = frozenset({
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys.settrace", "sys.setprofile",
    "sys.addaudithook",
    "sys.monitoring.register_callback", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "ctypes.dlopen",
    "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.string_at", "ctypes.wstring_at", "ctypes.cdata",
    "ctypes.cdata/buffer",
    "ctypes.addressof", "ctypes.call_function", "ctypes.PyObj_FromPtr", "code.__new__", "cpython.run_stdin",
})  # fmt: skip
_FRAMES = frozenset({"tb_frame", "gi_frame", "cr_frame", "ag_frame"})
_CODE = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
_TRANSPARENT = ("inspect.py", "ctypes/__init__.py", "ctypes/util.py")


def _suspicious(event: str, args: tuple[Any, ...]) -> bool:
    if event in _ALWAYS:
        return True
    if event == "object.__getattr__":
        return args[1] in _FRAMES
    if event == "object.__setattr__":
        return args[1] in _CODE
    return event == "import" and str(args[0]).split(".")[0] == "kzlib"


def install(trusted: tuple[str, ...]) -> None:
    """Watch from now on; code from files under a `trusted` prefix may do what it likes. Cannot be taken back."""
    looking = False
    exit_now, frame_at = os._exit, sys._getframe

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal looking
        if looking or not _suspicious(event, args):
            return
        looking = True
        frame: Any = frame_at(1)
        while frame is not None and frame.f_code.co_filename.endswith(_TRANSPARENT):
            frame = frame.f_back
        looking = False
        if frame is not None and not frame.f_code.co_filename.startswith(trusted):
            exit_now(EXIT_CODE)

    sys.addaudithook(hook)


def trusted_prefixes() -> tuple[str, ...]:
    """Folders of the interpreter, of installed packages and of this package; frozen modules."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH120, PTH100 - no pathlib in children
    return tuple(sorted({sys.prefix, sys.base_prefix, package, "<frozen", *(p for p in sys.path if "-packages" in p)}))


def hide_verifier() -> None:
    """Take this package out of `sys.modules`: a candidate that looks for it by name finds nothing, here or on disk."""
    for name in [n for n in sys.modules if n == "kzlib" or n.startswith("kzlib.")]:
        del sys.modules[name]
