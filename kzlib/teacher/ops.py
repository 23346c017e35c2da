"""The table of pointwise operators: Torch name -> scalar expression. One row an operator, called with Torch's
arguments.

Operands are expressions (tensors, held floats) or plain numbers. The trees use only what `scalars.py` can write in both
backends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kzlib.teacher import expr as e
from kzlib.teacher.expr import INT, Expr, Value, call, compare, maximum, minimum, where

Pointwise = Callable[..., Expr]
INF = float("inf")


def exp(x: Value) -> Expr:
    return call("exp", x)


def log(x: Value) -> Expr:
    return call("log", x)


def sqrt(x: Value) -> Expr:
    return call("sqrt", x)


def sigmoid(x: Value) -> Expr:
    return call("sigmoid", x)


def tanh(x: Value) -> Expr:
    return call("tanh", x)


def absolute(x: Expr) -> Expr:
    return maximum(x, -x) if x.dtype in INT else call("abs", x)


def floor(x: Value) -> Expr:
    return call("floor", x)


def gt(a: Value, b: Value) -> Expr:
    return compare("gt", a, b)


def lt(a: Value, b: Value) -> Expr:
    return compare("lt", a, b)


def clamp(x: Expr, min: Value | None = None, max: Value | None = None, **_: Any) -> Expr:
    if min is not None:
        x = maximum(x, min)
    return x if max is None else minimum(x, max)


def power(x: Expr | float, p: Expr | float) -> Expr:
    """x ** p: small integer powers by products, halves by roots, the rest by exp and log."""
    if isinstance(x, (int, float)):
        return exp(e.as_float(e.as_expr(p)) * math.log(x)) if x > 0 else e.const(float(x))
    if isinstance(p, (int, float)) and float(p).is_integer() and 0 <= p <= 4:
        out: Expr = e.const(1.0)
        if p == 0:
            return out
        out = x
        for _ in range(int(p) - 1):
            out = out * x
        return out
    if p == 0.5:
        return sqrt(x)
    if p == -0.5:
        return call("rsqrt", x)
    if p == -1:
        return 1.0 / x
    if p == -2:
        return 1.0 / (x * x)
    if isinstance(p, (int, float)) and float(p).is_integer():
        size = exp(float(p) * log(absolute(x)))
        return where(lt(x, 0.0), -size, size) if int(p) % 2 else size
    return exp(e.as_expr(p) * log(x) if not isinstance(p, Expr) else e.as_float(p) * log(x))


def gelu(x: Expr, approximate: str = "none") -> Expr:
    if approximate == "tanh":
        return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + call("erf", x * 0.7071067811865476))


def softplus(x: Expr, beta: Value = 1, threshold: Value = 20) -> Expr:
    if beta == 1:
        return where(gt(x, _f(threshold)), x, call("log1p", exp(x)))
    bx = x * _f(beta)
    return where(gt(bx, _f(threshold)), x, call("log1p", exp(bx)) / _f(beta))


def _f(v: Value) -> Value:
    return v if isinstance(v, Expr) else float(v)


def elu(x: Expr, alpha: Value = 1.0, inplace: bool = False) -> Expr:
    negative = call("expm1", x)
    return where(gt(x, 0.0), x, negative if alpha == 1 else _f(alpha) * negative)


def selu(x: Expr, inplace: bool = False) -> Expr:
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return where(gt(x, 0.0), scale * x, scale * alpha * call("expm1", x))


def round_even(x: Expr, decimals: int = 0) -> Expr:
    if decimals:
        scale = 10.0**decimals
        return round_even(x * scale) / scale
    down = floor(x)
    rest = x - down
    odd = gt(down - 2.0 * floor(down * 0.5), 0.5)
    up = Expr("or", (gt(rest, 0.5), e.both(compare("eq", rest, 0.5), odd)), dtype="bool")
    return where(up, down + 1.0, down)


def trunc(x: Expr) -> Expr:
    return where(lt(x, 0.0), call("ceil", x), floor(x))


def divide(a: Expr, b: Value, rounding_mode: str | None = None) -> Expr:
    if rounding_mode is None:
        return e.div(a, b)
    q = e.div(a, b)
    return floor(q) if rounding_mode == "floor" else trunc(q)


def remainder(a: Value, b: Value) -> Expr:
    if isinstance(a, Expr) and a.dtype in INT:
        return e.mod(a, b)
    rest = e.named(e.sub(a, floor(e.div(a, b)) * b), "rest")  # the quotient may round up to the next integer
    return where(lt(e.mul(rest, b), 0.0), rest + b, rest)


def logaddexp(a: Expr, b: Expr) -> Expr:
    return maximum(a, b) + call("log1p", exp(-absolute(a - b)))


def xlogy(x: Value, y: Value) -> Expr:
    return where(compare("eq", x, 0.0), 0.0, e.mul(x, log(y)))


def atan(x: Expr) -> Expr:
    """Range reduction to |t| <= tan(pi/8), then an odd polynomial (Cephes)."""
    size = absolute(x)
    big, middle = gt(size, 2.414213562373095), gt(size, 0.4142135623730950)
    t = where(big, -1.0 / size, where(middle, (size - 1.0) / (size + 1.0), size))
    base = where(big, math.pi / 2, where(middle, math.pi / 4, 0.0))
    t = e.named(t, "t")
    z = e.named(t * t, "z")
    poly = (((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1) * z * t + t
    out = base + poly
    return where(lt(x, 0.0), -out, out)


def asin(x: Expr) -> Expr:
    return atan(e.named(x / sqrt((1.0 - x) * (1.0 + x)), "ratio"))


def atan2(y: Expr, x: Expr) -> Expr:
    at = atan(e.named(y / x, "ratio"))
    side = where(lt(y, 0.0), -math.pi, math.pi)
    return where(lt(x, 0.0), at + side, at)


def asinh(x: Expr) -> Expr:
    size = absolute(x)
    out = call("log1p", size + size * size / (1.0 + sqrt(size * size + 1.0)))
    return where(lt(x, 0.0), -out, out)


def sinc(x: Expr) -> Expr:
    px = e.named(x * math.pi, "angle")
    return where(compare("eq", x, 0.0), 1.0, call("sin", px) / px)


def sign(x: Expr) -> Expr:
    return where(gt(x, 0.0), 1.0, where(lt(x, 0.0), -1.0, 0.0))


def lerp(a: Expr, b: Expr, weight: Value) -> Expr:
    return a + _f(weight) * (b - a)


def nan_to_num(x: Expr, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Expr:
    top = 3.4028234663852886e38
    x = where(compare("ne", x, x), nan or 0.0, x)
    x = where(compare("eq", x, INF), top if posinf is None else posinf, x)
    return where(compare("eq", x, -INF), -top if neginf is None else neginf, x)


def logical(op: str) -> Pointwise:
    def apply(a: Expr, b: Expr) -> Expr:
        return Expr(op, (truth(a), truth(b)), dtype="bool")

    return apply


def truth(a: Expr) -> Expr:
    return a if a.dtype == "bool" else compare("ne", a, 0 if a.dtype in INT else 0.0)


def logical_not(a: Expr) -> Expr:
    return Expr("not", (truth(a),), dtype="bool")


def threshold(x: Expr, threshold: Value, value: Value, inplace: bool = False) -> Expr:
    return where(gt(x, _f(threshold)), x, _f(value))


def prelu(x: Expr, weight: Expr) -> Expr:
    return where(gt(x, 0.0), x, weight * x)


def add_scaled(a: Value, b: Value, alpha: Value = 1) -> Expr:
    return e.add(a, b if alpha == 1 else e.mul(b, alpha))


def hardsigmoid(x: Expr, inplace: bool = False) -> Expr:
    return clamp(x / 6.0 + 0.5, 0.0, 1.0)


def where_(cond: Expr, a: Value, b: Value) -> Expr:
    return where(truth(cond), a, b)


def log1p(x: Value) -> Expr:
    return call("log1p", x)


def mish(x: Expr, inplace: bool = False) -> Expr:
    """x tanh(log(1 + e^x)) with the tanh worked out: no small number is a difference of large ones."""
    t = e.named(exp(minimum(x, 20.0)), "t")
    part = e.named(t * (t + 2.0), "part")
    return x * (part / (part + 2.0))


def tanhshrink(x: Expr) -> Expr:
    """x - tanh x; near 0, where the two agree to all digits, by its series."""
    z = e.named(x * x, "z")
    series = x * z * (1 / 3 - z * (2 / 15 - z * (17 / 315 - z * (62 / 2835))))
    return where(lt(z, 0.09), series, x - tanh(x))


def _reflected(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Gamma functions left of 1/2 by reflection: is it left, the point to use, pi times the distance to an integer."""
    left = lt(x, 0.5)
    angle = e.named((x - round_even(x)) * math.pi, "angle")
    return left, e.named(where(left, 1.0 - x, x), "z"), angle


def lgamma(x: Expr) -> Expr:
    """log |Gamma|: Stirling's series at z + 5, stepped down by the product z (z+1) ... (z+4)."""
    left, z, angle = _reflected(x)
    y = e.named(z + 5.0, "y")
    inv = e.named(1.0 / y, "inv")
    inv2 = e.named(inv * inv, "inv2")
    series = inv * (0.08333333333333333 - inv2 * (0.002777777777777778 - inv2 * 0.0007936507936507937))
    steps = log(z) + log(z + 1.0) + log((z + 2.0) * (z + 3.0)) + log(z + 4.0)
    right = e.named((y - 0.5) * log(y) - y + 0.9189385332046727 + series - steps, "right")
    return where(left, 1.1447298858494002 - log(absolute(call("sin", angle))) - right, right)


def digamma(x: Expr) -> Expr:
    left, z, angle = _reflected(x)
    y = e.named(z + 5.0, "y")
    inv2 = e.named(1.0 / (y * y), "inv2")
    tail = inv2 * (0.08333333333333333 - inv2 * (0.008333333333333333 - inv2 * 0.003968253968253968))
    steps = 1.0 / z + 1.0 / (z + 1.0) + 1.0 / (z + 2.0) + 1.0 / (z + 3.0) + 1.0 / (z + 4.0)
    right = e.named(log(y) - 0.5 / y - tail - steps, "right")
    return where(left, right - math.pi * call("cos", angle) / call("sin", angle), right)


POINTWISE: dict[str, Pointwise] = {
    # arithmetic
    "add": add_scaled,
    "__iadd__": add_scaled,
    "sub": lambda a, b, alpha=1: e.sub(a, b if alpha == 1 else e.mul(b, alpha)),
    "__isub__": e.sub,
    "__rsub__": lambda a, b: e.sub(b, a),
    "rsub": lambda a, b, alpha=1: e.sub(b, a if alpha == 1 else e.mul(a, alpha)),
    "mul": e.mul,
    "__imul__": e.mul,
    "div": divide,
    "__itruediv__": divide,
    "__rdiv__": lambda a, b: e.div(b, a),
    "neg": lambda x: -x,
    "positive": lambda x: x,
    "pow": power,
    "__pow__": power,
    "__rpow__": lambda a, b: power(b, a),
    "float_power": power,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "remainder": remainder,
    "fmod": lambda a, b: e.sub(a, trunc(e.div(a, b)) * b),
    "floor_divide": lambda a, b: floor(e.div(a, b)),
    "__floordiv__": lambda a, b: floor(e.div(a, b)),
    "maximum": maximum,
    "minimum": minimum,
    "fmax": maximum,
    "fmin": minimum,
    "addcmul": lambda x, a, b, value=1: x + (a * b if value == 1 else _f(value) * a * b),
    "addcdiv": lambda x, a, b, value=1: x + (a / b if value == 1 else _f(value) * (a / b)),
    "lerp": lerp,
    "hypot": lambda a, b: sqrt(a * a + b * b),
    "logaddexp": logaddexp,
    "logaddexp2": lambda a, b: maximum(a, b) + call("log2", 1.0 + call("exp2", -absolute(a - b))),
    "xlogy": xlogy,
    "xlog1py": lambda x, y: where(compare("eq", x, 0.0), 0.0, e.mul(x, log1p(y))),
    "copysign": lambda a, b: where(lt(e.as_expr(b), 0.0), -absolute(a), absolute(a)),
    "ldexp": lambda a, b: a * call("exp2", b),
    "heaviside": lambda x, v: where(gt(x, 0.0), 1.0, where(lt(x, 0.0), 0.0, v)),
    # functions
    "abs": absolute,
    "exp": exp,
    "exp2": lambda x: call("exp2", x),
    "expm1": lambda x: call("expm1", x),
    "log": log,
    "log2": lambda x: call("log2", x),
    "log10": lambda x: log(x) * 0.4342944819032518,
    "log1p": log1p,
    "sqrt": sqrt,
    "rsqrt": lambda x: call("rsqrt", x),
    "sin": lambda x: call("sin", x),
    "cos": lambda x: call("cos", x),
    "tan": lambda x: call("sin", x) / call("cos", x),
    "sinh": lambda x: 0.5 * (exp(x) - exp(-x)),
    "cosh": lambda x: 0.5 * (exp(x) + exp(-x)),
    "tanh": tanh,
    "asin": asin,
    "acos": lambda x: math.pi / 2 - asin(x),
    "atan": atan,
    "atan2": atan2,
    "asinh": asinh,
    "acosh": lambda x: log(x + sqrt((x - 1.0) * (x + 1.0))),
    "atanh": lambda x: 0.5 * (log1p(x) - log1p(-x)),
    "sinc": sinc,
    "erf": lambda x: call("erf", x),
    "erfc": lambda x: call("erfc", x),
    "sigmoid": sigmoid,
    "logit": lambda x, eps=None: log((c := x if eps is None else clamp(x, eps, 1.0 - eps)) / (1.0 - c)),
    "lgamma": lgamma,
    "digamma": digamma,
    "floor": floor,
    "ceil": lambda x: call("ceil", x),
    "trunc": trunc,
    "round": round_even,
    "frac": lambda x: x - trunc(x),
    "sign": sign,
    "sgn": sign,
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "nan_to_num": nan_to_num,
    "entr": lambda x: where(gt(x, 0.0), -x * log(x), 0.0),
    "clamp": clamp,
    "clamp_min": lambda x, min: maximum(x, _f(min) if x.dtype not in INT else min),
    "clamp_max": lambda x, max: minimum(x, _f(max) if x.dtype not in INT else max),
    "threshold": threshold,
    # activations
    "relu": lambda x, inplace=False: maximum(x, 0.0),
    "relu6": lambda x, inplace=False: clamp(x, 0.0, 6.0),
    "hardtanh": lambda x, min_val=-1.0, max_val=1.0, inplace=False: clamp(x, _f(min_val), _f(max_val)),
    "leaky_relu": lambda x, negative_slope=0.01, inplace=False: where(gt(x, 0.0), x, x * _f(negative_slope)),
    "elu": elu,
    "selu": selu,
    "celu": lambda x, alpha=1.0, inplace=False: where(gt(x, 0.0), x, _f(alpha) * call("expm1", x / _f(alpha))),
    "silu": lambda x, inplace=False: x * sigmoid(x),
    "gelu": gelu,
    "mish": mish,
    "softplus": softplus,
    "softsign": lambda x: x / (1.0 + absolute(x)),
    "logsigmoid": lambda x: minimum(x, 0.0) - log1p(exp(-absolute(x))),
    "hardsigmoid": hardsigmoid,
    "hardswish": lambda x, inplace=False: x * clamp(x + 3.0, 0.0, 6.0) / 6.0,
    "hardshrink": lambda x, lambd=0.5: where(gt(absolute(x), _f(lambd)), x, 0.0),
    "softshrink": lambda x, lambd=0.5: where(
        gt(x, _f(lambd)), x - _f(lambd), where(lt(x, e.sub(0.0, _f(lambd))), x + _f(lambd), 0.0)
    ),
    "tanhshrink": tanhshrink,
    "prelu": prelu,
    "rrelu": lambda x, lower=0.125, upper=1 / 3, training=False, inplace=False: where(
        gt(x, 0.0), x, x * ((lower + upper) / 2)
    ),
    # comparisons and logic
    "gt": gt,
    "lt": lt,
    "ge": lambda a, b: compare("ge", a, b),
    "le": lambda a, b: compare("le", a, b),
    "eq": lambda a, b: compare("eq", a, b),
    "ne": lambda a, b: compare("ne", a, b),
    "__eq__": lambda a, b: compare("eq", a, b),
    "__ne__": lambda a, b: compare("ne", a, b),
    "__gt__": gt,
    "__lt__": lt,
    "logical_and": logical("and"),
    "logical_or": logical("or"),
    "__and__": logical("and"),
    "__or__": logical("or"),
    "bitwise_and": logical("and"),
    "bitwise_or": logical("or"),
    "logical_xor": lambda a, b: compare("ne", e.as_int(truth(a)), e.as_int(truth(b))),
    "bitwise_xor": lambda a, b: compare("ne", e.as_int(truth(a)), e.as_int(truth(b))),
    "__xor__": lambda a, b: compare("ne", e.as_int(truth(a)), e.as_int(truth(b))),
    "logical_not": logical_not,
    "bitwise_not": logical_not,
    "__invert__": logical_not,
    "isnan": lambda x: compare("ne", x, x),
    "isinf": lambda x: compare("eq", absolute(x), INF),
    "isfinite": lambda x: lt(absolute(x), INF),
    "signbit": lambda x: lt(x, 0.0),
    "where": where_,
    "masked_fill": lambda x, mask, value: where(truth(mask), _f(value), x),
    # identities and casts
    "clone": lambda x, **_: x,
    "detach": lambda x: x,
    "alias": lambda x: x,
    "contiguous": lambda x, **_: x,
    "requires_grad": lambda x, *_: x,
    "float": e.as_float,
    "dropout": lambda x, p=0.5, training=True, inplace=False: x,
}

# operators that only make sense at p = 0 or out of training: the lowering checks
DROPOUT = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
