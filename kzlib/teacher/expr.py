"""One expression tree for values and indices; both printers (Triton, CUDA) read it.

A tree describes one element of a tensor as a function of index variables, so fusing two operators is composing two
trees. Source: issue 6 (one expression tree under a schedule); the idea is Halide's algorithm/schedule split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

INT = ("i32", "i64")


@dataclass(frozen=True, slots=True)
class Dim:
    """A size known to the host: `text` is the host expression, `value` what it was in the traced module."""

    text: str
    value: int
    hint: str = "n"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in memory: an input, a weight, or the output of an earlier kernel. Contiguous, of `shape`."""

    text: str
    shape: tuple[Expr, ...]
    dtype: str
    hint: str

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(value_of(s) for s in self.shape)


class Expr:
    """A node: `op`, operands `args`, and for leaves and reductions an `attr`. Trees are compared by structure.

    >>> i = var("i", const(8))
    >>> show(i * 2 + 1)
    '((i * 2) + 1)'
    >>> (i * 1 + 0) is i
    True
    """

    __slots__ = ("args", "attr", "dtype", "key", "label", "op")
    key: int

    def __init__(self, op: str, args: tuple[Expr, ...] = (), attr: Any = None, dtype: str = "f32", label: str = ""):
        self.op, self.args, self.attr, self.dtype, self.label = op, args, attr, dtype, label
        self.key = hash((op, tuple(a.key for a in args), _attr_key(attr), dtype))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expr):
            return NotImplemented
        return self is other or (
            self.key == other.key and self.op == other.op and self.attr == other.attr and self.args == other.args
        )

    def __hash__(self) -> int:
        return self.key

    def __repr__(self) -> str:
        return show(self)

    def __add__(self, other: Value) -> Expr:
        return add(self, other)

    def __radd__(self, other: Value) -> Expr:
        return add(other, self)

    def __sub__(self, other: Value) -> Expr:
        return sub(self, other)

    def __rsub__(self, other: Value) -> Expr:
        return sub(other, self)

    def __mul__(self, other: Value) -> Expr:
        return mul(self, other)

    def __rmul__(self, other: Value) -> Expr:
        return mul(other, self)

    def __truediv__(self, other: Value) -> Expr:
        return div(self, other)

    def __rtruediv__(self, other: Value) -> Expr:
        return div(other, self)

    def __floordiv__(self, other: Value) -> Expr:
        return idiv(self, other)

    def __mod__(self, other: Value) -> Expr:
        return mod(self, other)

    def __neg__(self) -> Expr:
        return const(-self.attr, self.dtype) if self.op == "const" else Expr("neg", (self,), dtype=self.dtype)


Value = Expr | int | float | bool


def _attr_key(attr: Any) -> Any:
    if isinstance(attr, tuple):
        return tuple(_attr_key(a) for a in attr)
    return attr.key if isinstance(attr, Expr) else (type(attr).__name__, attr)


# ------------------------------------------------------------------ leaves


def const(value: float | int | bool, dtype: str = "") -> Expr:
    if not dtype:
        dtype = "bool" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32"
    return Expr("const", attr=value, dtype=dtype)


def var(name: str, extent: Expr) -> Expr:
    """An index variable running over 0 .. extent-1."""
    return Expr("var", attr=(name, extent), dtype="i32")


def dim(text: str, value: int, hint: str = "n") -> Expr:
    return Expr("dim", attr=Dim(text, value, hint), dtype="i32")


def scalar(text: str, value: float, hint: str) -> Expr:
    """A float held by the module (`self.scale`), passed to the kernel as an argument."""
    return Expr("scalar", attr=Dim(text, value, hint), dtype="f32")  # type: ignore[arg-type]


def load(buffer: Buffer, index: tuple[Expr, ...], guard: Expr | None = None) -> Expr:
    """An element of a buffer; `guard` says when the index is inside, elsewhere the value is 0."""
    assert len(index) == len(buffer.shape), (buffer, index)
    return Expr("load", (*index, guard if guard is not None else TRUE), attr=buffer, dtype=buffer.dtype)


def reduce(kind: str, variables: tuple[Expr, ...], body: Expr) -> Expr:
    """`kind` over index variables: add, max, min, mul, any, all, argmax, argmin (flat index, first of equals)."""
    unit = {v.attr[0]: const(0) for v in variables if value_of(v.attr[1]) == 1}
    kept = tuple(v for v in variables if v.attr[0] not in unit)
    body = substitute(body, unit) if unit else body
    dtype = "i64" if kind.startswith("arg") else body.dtype
    if not kept:
        return const(0, "i64") if kind.startswith("arg") else body
    return Expr("reduce", (body,), attr=(kind, *kept), dtype=dtype)


TRUE = Expr("const", attr=True, dtype="bool")


def as_expr(value: Value, like: Expr | None = None) -> Expr:
    if isinstance(value, Expr):
        return value
    if like is not None and like.dtype not in INT and like.dtype != "bool":
        return const(float(value), "f32")
    return const(value)


# ------------------------------------------------------------------ arithmetic


def _pair(a: Value, b: Value) -> tuple[Expr, Expr]:
    ea = as_expr(a, b if isinstance(b, Expr) else None)
    eb = as_expr(b, a if isinstance(a, Expr) else None)
    if "f32" in (ea.dtype, eb.dtype) or _rank(ea) == 3 or _rank(eb) == 3:
        return as_float(ea), as_float(eb)
    return ea, eb


def _join(a: Expr, b: Expr) -> str:
    order = ("bool", "i32", "i64", "f32")
    return order[max(_rank(a), _rank(b))]


def _rank(e: Expr) -> int:
    return {"bool": 0, "i32": 1, "i64": 2}.get(e.dtype, 3)


def is_const(e: Expr, value: float | None = None) -> bool:
    return e.op == "const" and (value is None or e.attr == value)


def add(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    if is_const(x, 0) and _rank(y) >= _rank(x):
        return y
    if is_const(y, 0) and _rank(x) >= _rank(y):
        return x
    if is_const(y) and y.dtype in INT and y.attr < 0:
        return sub(x, -y)
    if x.op == y.op == "const":
        return const(x.attr + y.attr, _join(x, y))
    if is_const(y) and y.dtype in INT and x.op in ("add", "sub") and is_const(x.args[1]):
        c = x.args[1].attr if x.op == "add" else -x.args[1].attr
        return add(x.args[0], const(c + y.attr))
    return Expr("add", (x, y), dtype=_join(x, y))


def sub(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    if is_const(y, 0) and _rank(x) >= _rank(y):
        return x
    if x.op == y.op == "const":
        return const(x.attr - y.attr, _join(x, y))
    if is_const(y) and y.dtype in INT and y.attr < 0:
        return add(x, -y)
    if is_const(y) and y.dtype in INT and x.op in ("add", "sub") and is_const(x.args[1]):
        c = x.args[1].attr if x.op == "add" else -x.args[1].attr
        return add(x.args[0], const(c - y.attr))
    return Expr("sub", (x, y), dtype=_join(x, y))


def mul(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    if is_const(x, 1) and _rank(y) >= _rank(x):
        return y
    if is_const(y, 1) and _rank(x) >= _rank(y):
        return x
    if x.dtype in INT and y.dtype in INT and (is_const(x, 0) or is_const(y, 0)):
        return const(0)
    if x.op == y.op == "const":
        return const(x.attr * y.attr, _join(x, y))
    return Expr("mul", (x, y), dtype=_join(x, y))


def div(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    if is_const(y, 1) and x.dtype == "f32":
        return x
    return Expr("div", (as_float(x), as_float(y)), dtype="f32")


def idiv(a: Value, b: Value) -> Expr:
    """Floor division of non-negative integers."""
    x, y = _pair(a, b)
    if is_const(y, 1):
        return x
    if x.op == y.op == "const":
        return const(x.attr // y.attr)
    split = _split(x, y)
    if split is not None:
        return split[0]
    if x.op == "var" and value_of(x.attr[1]) <= value_of(y):
        return const(0)
    return Expr("idiv", (x, y), dtype=_join(x, y))


def mod(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    if is_const(y, 1):
        return const(0)
    if x.op == y.op == "const":
        return const(x.attr % y.attr)
    split = _split(x, y)
    if split is not None:
        return split[1]
    if x.op == "var" and value_of(x.attr[1]) <= value_of(y):
        return x
    return Expr("mod", (x, y), dtype=_join(x, y))


def _split(x: Expr, y: Expr) -> tuple[Expr, Expr] | None:
    """x = q * y + r with 0 <= r < y, when its shape shows it."""
    if x.op == "mul" and x.args[1] == y:
        return x.args[0], const(0)
    if x.op == "add" and x.args[0].op == "mul" and x.args[0].args[1] == y:
        rest = x.args[1]
        if rest.op == "var" and value_of(rest.attr[1]) <= value_of(y):
            return x.args[0].args[0], rest
    return None


def as_float(x: Expr) -> Expr:
    """As a value in fp32; half-precision loads are widened by the printers already."""
    if _rank(x) == 3:
        return x
    return const(float(x.attr), "f32") if x.op == "const" else Expr("float", (x,), dtype="f32")


def as_int(x: Expr, dtype: str = "i32") -> Expr:
    return x if x.dtype == dtype or (x.op == "const" and x.dtype in INT) else Expr("int", (x,), dtype=dtype)


def call(name: str, *args: Value, dtype: str = "f32") -> Expr:
    """A function of the scalar table (`scalars.py`): exp, maximum, sigmoid, ..."""
    return Expr(name, tuple(as_float(as_expr(a)) for a in args), dtype=dtype)


def maximum(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    return Expr("max", (x, y), dtype=_join(x, y))


def minimum(a: Value, b: Value) -> Expr:
    x, y = _pair(a, b)
    return Expr("min", (x, y), dtype=_join(x, y))


def compare(op: str, a: Value, b: Value) -> Expr:
    """lt, le, gt, ge, eq, ne."""
    x, y = _pair(a, b)
    if "f32" in (x.dtype, y.dtype):
        x, y = as_float(x), as_float(y)
    return Expr(op, (x, y), dtype="bool")


def where(cond: Expr, a: Value, b: Value) -> Expr:
    if is_const(cond, True):
        return as_expr(a)
    x, y = _pair(a, b)
    if "f32" in (x.dtype, y.dtype):
        x, y = as_float(x), as_float(y)
    return Expr("where", (cond, x, y), dtype=_join(x, y))


def both(*terms: Expr) -> Expr:
    kept = [t for t in terms if not is_const(t, True)]
    if not kept:
        return TRUE
    out = kept[0]
    for t in kept[1:]:
        out = Expr("and", (out, t), dtype="bool")
    return out


def named(e: Expr, label: str) -> Expr:
    """Mark an operator's result: printers give it a line of its own."""
    if e.op in ("load", "const", "var", "dim", "scalar") or e.label:
        return e
    return Expr(e.op, e.args, e.attr, e.dtype, label)


# ------------------------------------------------------------------ walks

LEAVES = ("const", "var", "dim", "scalar")


def walk(e: Expr, seen: set[int] | None = None) -> Iterator[Expr]:
    """Every distinct node once, operands first."""
    seen = set() if seen is None else seen
    if id(e) in seen:
        return
    seen.add(id(e))
    for a in e.args:
        yield from walk(a, seen)
    yield e


def rewrite(e: Expr, change: Callable[[Expr], Expr | None], memo: dict[int, Expr] | None = None) -> Expr:
    """Rebuild bottom-up through the simplifying constructors; `change` may replace a node before its operands are
    seen."""
    memo = {} if memo is None else memo
    if id(e) in memo:
        return memo[id(e)]
    new = change(e)
    if new is None:
        args = tuple(rewrite(a, change, memo) for a in e.args)
        new = e if all(a is b for a, b in zip(args, e.args, strict=True)) else _rebuild(e, args)
    memo[id(e)] = new
    return new


def _rebuild(e: Expr, args: tuple[Expr, ...]) -> Expr:
    simple = {"add": add, "sub": sub, "mul": mul, "idiv": idiv, "mod": mod}
    if e.op in simple and e.dtype in INT:
        new = simple[e.op](*args)
        return named(new, e.label) if e.label else new
    return Expr(e.op, args, e.attr, e.dtype, e.label)


def substitute(e: Expr, table: dict[str, Expr]) -> Expr:
    """Replace index variables by name."""
    return rewrite(e, lambda n: table.get(n.attr[0]) if n.op == "var" else None)


def variables(e: Expr) -> set[str]:
    return {n.attr[0] for n in walk(e) if n.op == "var"}


def loads(e: Expr) -> list[Expr]:
    return [n for n in walk(e) if n.op == "load"]


def value_of(e: Expr | int) -> int:
    """The number an index expression without variables had in the traced module."""
    if isinstance(e, int):
        return e
    if e.op == "const":
        return int(e.attr)
    if e.op == "dim":
        return e.attr.value
    a = [value_of(x) for x in e.args]
    table: dict[str, Callable[[], int]] = {
        "add": lambda: a[0] + a[1],
        "sub": lambda: a[0] - a[1],
        "mul": lambda: a[0] * a[1],
        "idiv": lambda: a[0] // a[1],
        "mod": lambda: a[0] % a[1],
        "neg": lambda: -a[0],
        "max": lambda: max(a),
        "min": lambda: min(a),
    }
    return table[e.op]()


def product(sizes: tuple[Expr, ...] | list[Expr]) -> Expr:
    out, factor = const(1), 1
    for s in sizes:
        if s.op == "const":
            factor *= s.attr
        else:
            out = out * s
    return out * factor


def numel(shape: tuple[Expr, ...]) -> int:
    return math.prod(value_of(s) for s in shape)


def show(e: Expr) -> str:
    """A fully bracketed form for tests and error texts."""
    if e.op == "const":
        return repr(e.attr)
    if e.op == "var":
        return str(e.attr[0])
    if e.op in ("dim", "scalar"):
        return str(e.attr.text)
    if e.op == "load":
        return f"{e.attr.hint}[{', '.join(show(a) for a in e.args[:-1])}]"
    if e.op == "reduce":
        return f"{e.attr[0]}({', '.join(show(v) for v in e.attr[1:])}: {show(e.args[0])})"
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/", "idiv": "//", "mod": "%"}
    if e.op in signs:
        return f"({show(e.args[0])} {signs[e.op]} {show(e.args[1])})"
    return f"{e.op}({', '.join(show(a) for a in e.args)})"
