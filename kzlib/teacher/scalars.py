"""How each scalar operation is written in Triton and in CUDA: one row an operation, data only.

`{0}` `{1}` are operands. The last column is the operands' binding strength for infix forms (0: operands are arguments).
Triton has no libdevice in the interpreter, so everything is built from what `tl` itself offers.
"""

from __future__ import annotations

# op: (triton, cuda, precedence of the whole, precedence asked of operands)
INFIX: dict[str, tuple[str, str, int]] = {
    # op: (triton sign, cuda sign, precedence)
    "or": ("|", "||", 1),
    "and": ("&", "&&", 3),
    "lt": ("<", "<", 5),
    "le": ("<=", "<=", 5),
    "gt": (">", ">", 5),
    "ge": (">=", ">=", 5),
    "eq": ("==", "==", 5),
    "ne": ("!=", "!=", 5),
    "add": ("+", "+", 7),
    "sub": ("-", "-", 7),
    "mul": ("*", "*", 8),
    "div": ("/", "/", 8),
    "idiv": ("//", "/", 8),
    "mod": ("%", "%", 8),
}

CALLS: dict[str, tuple[str, str]] = {
    "exp": ("tl.exp({0})", "expf({0})"),
    "exp2": ("tl.exp2({0})", "exp2f({0})"),
    "log": ("tl.log({0})", "logf({0})"),
    "log2": ("tl.log2({0})", "log2f({0})"),
    "sqrt": ("tl.sqrt({0})", "sqrtf({0})"),
    "rsqrt": ("tl.rsqrt({0})", "rsqrtf({0})"),
    "sin": ("tl.sin({0})", "sinf({0})"),
    "cos": ("tl.cos({0})", "cosf({0})"),
    "abs": ("tl.abs({0})", "fabsf({0})"),
    "floor": ("tl.floor({0})", "floorf({0})"),
    "ceil": ("tl.ceil({0})", "ceilf({0})"),
    "erf": ("tl.erf({0})", "erff({0})"),
    "erfc": ("erfc({0})", "erfcf({0})"),
    "sigmoid": ("tl.sigmoid({0})", "1.0f / (1.0f + expf(-{0}))"),
    "max": ("tl.maximum({0}, {1})", "fmaxf({0}, {1})"),
    "min": ("tl.minimum({0}, {1})", "fminf({0}, {1})"),
    "where": ("tl.where({0}, {1}, {2})", "{0} ? {1} : {2}"),
    "float": ("{0}.to(tl.float32)", "(float){0}"),
    "int": ("{0}.to(tl.int32)", "(int){0}"),
    "not": ("~{0}", "!{0}"),
    "fma": ("tl.fma({0}, {1}, {2})", "fmaf({0}, {1}, {2})"),
    # CUDA's own accurate forms; Triton writes them from exp, log and friends (expr trees in ops.py)
    "tanh": ("2.0 * tl.sigmoid(2.0 * {0}) - 1.0", "tanhf({0})"),
    "log1p": ("log1p({0})", "log1pf({0})"),
    "expm1": ("tl.exp({0}) - 1.0", "expm1f({0})"),
}

# forms whose text is an infix expression or a ternary: these need brackets when they are operands
LOOSE = {"triton": {"tanh": 7, "expm1": 7}, "cuda": {"sigmoid": 8, "where": 0, "float": 9, "int": 9}}

# reductions: identity, combining two vectors, collapsing a block
REDUCTIONS: dict[str, tuple[float, str]] = {
    "add": (0.0, "sum"),
    "max": (float("-inf"), "max"),
    "min": (float("inf"), "min"),
    "mul": (1.0, "prod"),
}
