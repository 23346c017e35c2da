"""NVIDIA's libdevice functions for the interpreter: symbol -> a function on numpy arrays.

A function that is missing here makes a candidate `unsupported` on the CPU, never wrong. Source: issue 3, item 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

Function = Callable[..., Any]


def _torch(function: Callable[..., torch.Tensor]) -> Function:
    def call(*arrays: np.ndarray) -> np.ndarray:
        return function(*(torch.from_numpy(np.ascontiguousarray(a)) for a in arrays)).numpy()

    return call


_FLOAT: dict[str, Function] = {
    "fabs": np.abs, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "rcp": lambda x: 1 / x, "exp": np.exp, "exp2": np.exp2,
    "exp10": lambda x: np.power(np.asarray(10, x.dtype), x), "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "powi": np.power, "fmod": np.fmod,
    "fmax": np.fmax, "fmin": np.fmin, "hypot": np.hypot, "copysign": np.copysign, "cbrt": np.cbrt,
    "fdim": lambda x, y: np.maximum(x - y, 0), "fma": lambda x, y, z: x * y + z, "isnan": np.isnan, "isinf": np.isinf,
    "finite": np.isfinite, "isfinited": np.isfinite, "signbit": np.signbit, "saturate": lambda x: np.clip(x, 0, 1),
    "erf": _torch(torch.erf), "erfc": _torch(torch.erfc), "erfinv": _torch(torch.erfinv),
    "lgamma": _torch(torch.lgamma), "tgamma": _torch(lambda x: torch.exp(torch.lgamma(x))),
    "normcdf": _torch(torch.special.ndtr), "j0": _torch(torch.special.bessel_j0), "j1": _torch(torch.special.bessel_j1),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "sinpi": lambda x: np.sin(np.pi * x).astype(x.dtype),
    "cospi": lambda x: np.cos(np.pi * x).astype(x.dtype), "fdivide": np.divide,
    "fadd_rn": np.add, "fmul_rn": np.multiply, "fdiv_rn": np.divide, "fsqrt_rn": np.sqrt, "frcp_rn": lambda x: 1 / x,
    "fsub_rn": np.subtract, "dadd_rn": np.add, "dmul_rn": np.multiply, "ddiv_rn": np.divide, "dsqrt_rn": np.sqrt,
}  # fmt: skip
_INTEGER: dict[str, Function] = {
    "abs": np.abs, "llabs": np.abs, "max": np.maximum, "min": np.minimum, "umax": np.maximum, "umin": np.minimum,
    "llmax": np.maximum, "llmin": np.minimum, "popc": np.bitwise_count, "popcll": np.bitwise_count,
}  # fmt: skip
_FLOAT_TO_INTEGER: dict[str, Function] = {"float2int_rn": np.rint, "float2int_rz": np.trunc, "int2float_rn": np.asarray}


def function(symbol: str) -> Function | None:
    """The numpy form of `__nv_<name>` (fp32 names end in f, fast ones start with fast_); None if there is none.

    >>> float(function("__nv_tanhf")(np.float32(0.0))), function("__nv_unheard_of")
    (0.0, None)
    """
    name = symbol.removeprefix("__nv_").removeprefix("fast_")
    for table in (_INTEGER, _FLOAT, _FLOAT_TO_INTEGER):
        if name in table:
            return table[name]
    return _FLOAT.get(name.removesuffix("f"))
