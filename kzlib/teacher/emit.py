"""What the two printers share: names, kernel arguments, index arithmetic, and statements in scopes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from kzlib.teacher.expr import (
    INT,
    Buffer,
    Dim,
    Expr,
    const,
    is_const,
    loads,
    named,
    product,
    value_of,
    var,
    variables,
    walk,
)
from kzlib.teacher.host import associative
from kzlib.teacher.scalars import CALLS, INFIX, LOOSE

# operator names that mean something else to Python, Triton or C++
TAKEN = {
    "float",
    "int",
    "bool",
    "max",
    "min",
    "abs",
    "sum",
    "all",
    "any",
    "round",
    "pow",
    "range",
    "where",
    "and",
    "or",
    "not",
    "div",
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "floor",
    "ceil",
    "tl",
    "triton",
    "erfc",
    "log1p",
}
POOL = ("x", "v", "u", "p", "q", "e")


@dataclass
class Argument:
    """A kernel parameter and the host expression that fills it."""

    name: str
    host: str
    kind: str  # "pointer" | "size" | "scalar"
    dtype: str
    buffer: Buffer | None = None


@dataclass
class Scope:
    memo: dict[Expr, str] = field(default_factory=dict)
    uses: dict[Expr, int] = field(default_factory=dict)
    owner: dict[str, Expr] = field(default_factory=dict)


def merge_groups(order: list[Expr], body: Iterable[Expr]) -> list[list[Expr]]:
    """Partition adjacent index variables into runs that every load walks as one contiguous index.

    >>> from kzlib.teacher.expr import load
    >>> n, m = const(4), const(6)
    >>> i, j = var("i", n), var("j", m)
    >>> x, b = Buffer("x", (n, m), "f32", "x"), Buffer("b", (m,), "f32", "b")
    >>> [len(g) for g in merge_groups([i, j], [load(x, (i, j))])]
    [2]
    >>> [len(g) for g in merge_groups([i, j], [load(x, (i, j)) + load(b, (j,))])]
    [1, 1]
    """
    roots = list(body)
    reads = [ld for root in roots for ld in loads(root)]
    free: set[str] = set()
    for root in roots:
        free |= _outside_loads(root)
    groups = [[v] for v in order]
    k = 0
    while k + 1 < len(groups):
        a, b = groups[k][-1], groups[k + 1][0]
        if {a.attr[0], b.attr[0]} & free or not all(_joins(ld, a, b) for ld in reads):
            k += 1
        else:
            groups[k : k + 2] = [groups[k] + groups[k + 1]]
    return groups


def _outside_loads(root: Expr) -> set[str]:
    found: set[str] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        if e.op == "var":
            found.add(e.attr[0])
        if e.op == "load":
            stack.extend(index for index in e.args[:-1] if index.op not in ("var", "const"))
            stack.append(e.args[-1])
        else:
            stack.extend(e.args)
    return found


def _joins(ld: Expr, a: Expr, b: Expr) -> bool:
    index = ld.args[:-1]
    has_a = [j for j, e in enumerate(index) if e == a]
    has_b = [j for j, e in enumerate(index) if e == b]
    if not has_a and not has_b:
        return True
    if len(has_a) != 1 or len(has_b) != 1:
        return False
    j, size = has_a[0], value_of(b.attr[1])
    between = range(j + 1, has_b[0])
    if has_b[0] < j or any(value_of(ld.attr.shape[t]) != 1 for t in between):
        return False
    return value_of(ld.attr.shape[has_b[0]]) == size


class Emitter:
    """Statements of one kernel. Subclasses give the syntax: `assign`, `load_text`, `literal`, `reduce_text`."""

    backend = "triton"
    reserved: frozenset[str] = frozenset()

    def __init__(self, indent: str = "    ", plain: bool = True):
        self.lines: list[str] = []
        self.indent = indent
        self.plain = plain
        self.arguments: dict[object, Argument] = {}
        self.names: set[str] = set(self.reserved)
        self.hoist: list[Expr] = []  # loop-invariant statements found by a dry run, to be put before the first loop
        self.invariant: list[Expr] = []
        self.loop_variables: set[str] = set()
        self.bound: dict[str, Expr | str] = {}  # index variable -> its text, or the expression that decodes it
        self.roots: dict[str, set[str]] = {}  # index variable -> vector roots that it varies with
        self.domains: list[tuple[list[Expr], Expr]] = []  # (members, flat variable): runs that collapse to one index
        self.scopes: list[Scope] = [Scope()]
        self.wide = False
        self.comments = False
        self.taken: frozenset[str] = frozenset()  # names of the host function: its sizes must not hide them
        self.masks: dict[str, str] = {}
        self.stated: set[Expr] = set()  # what had a line of its own, also where its name is free again

    # -------------------------------------------------------------- names and arguments

    def host_name(self, name: str) -> str:
        """What the host calls a size that the kernel calls `name`."""
        return f"{name}_size" if name in self.taken else name

    def fresh(self, base: str) -> str:
        base = "value" if base in TAKEN else base or "t"
        name, k = base, 2
        while not self.free(name):
            name, k = f"{base}{k}", k + 1
        self.give(name)
        return name

    def free(self, name: str) -> bool:
        """May a new value be called so here?"""
        return name not in self.names

    def give(self, name: str) -> None:
        """A value that is written here is called so."""
        self.names.add(name)

    def pointer(self, buffer: Buffer) -> str:
        key = ("pointer", buffer.text)
        if key not in self.arguments:
            name = self.fresh(self.pointer_name(buffer.hint))
            self.arguments[key] = Argument(name, buffer.text, "pointer", buffer.dtype, buffer)
        return self.arguments[key].name

    def pointer_name(self, hint: str) -> str:
        return f"{hint}_ptr"

    def size(self, d: Dim) -> str:
        key = ("size", d.text)
        if key not in self.arguments:
            self.arguments[key] = Argument(self.fresh(d.hint), d.text, "size", "i32")
        return self.arguments[key].name

    def scalar(self, d: Dim) -> str:
        key = ("scalar", d.text)
        if key not in self.arguments:
            self.arguments[key] = Argument(self.fresh(d.hint), d.text, "scalar", "f32")
        return self.arguments[key].name

    # -------------------------------------------------------------- index variables

    def bind(self, v: Expr, text: str | Expr, roots: set[str]) -> None:
        self.bound[v.attr[0]] = text
        self.roots[v.attr[0]] = roots
        if isinstance(text, str):
            self.names.add(text)

    def bind_flat(self, flat: Expr, order: list[Expr], body: Iterable[Expr], roots: set[str]) -> None:
        """Bind `order` as the digits of `flat`, leading digit first; runs that loads walk together stay one index."""
        groups = merge_groups(order, body)
        if len(groups) <= 1:
            self.domains.append((order, flat))
            if len(order) == 1:
                self.bound[order[0].attr[0]] = flat
                self.roots[order[0].attr[0]] = roots
            for v in order:
                self.roots.setdefault(v.attr[0], roots)
            return
        self.domains.append((order, flat))
        rest: Expr = const(1)
        for position in range(len(groups) - 1, -1, -1):
            group = groups[position]
            extent = product([v.attr[1] for v in group])
            name = "".join(v.attr[0] for v in group) if len(group) > 1 else group[0].attr[0]
            digit = flat // rest
            if position:
                digit = digit % extent
            rest = extent * rest
            if len(group) == 1:
                self.bound[group[0].attr[0]] = named(digit, name)
                self.roots[group[0].attr[0]] = roots
            else:
                joined = var(name, extent)
                self.bound[name] = named(digit, name)
                self.roots[name] = roots
                for v in group:
                    self.roots[v.attr[0]] = roots
                self.domains.append((group, joined))

    def offset(self, ld: Expr) -> Expr:
        """The flat element offset of a load, Horner form, with whole runs of index variables taken as one."""
        index = list(ld.args[:-1])
        shape = list(ld.attr.shape)
        keep = [j for j in range(len(index)) if value_of(shape[j]) != 1]
        index, shape = [index[j] for j in keep], [shape[j] for j in keep]
        for members, flat in self.domains:
            index, shape = _collapse(index, shape, members, flat)
        out: Expr = const(0)
        for e, s in zip(index, shape, strict=True):
            extent = e.attr[1] if e.op == "var" and value_of(e.attr[1]) == value_of(s) else s
            out = out * extent + e
        return out

    def roots_of(self, e: Expr) -> set[str]:
        return {r for name in variables(e) for r in self.roots.get(name, set())}

    row_names: frozenset[str] | None = None  # where a lane walks a row: the row's own index variables

    def varies(self, v: Expr) -> bool:
        """Does an index variable change along the row?"""
        return bool(self.roots.get(v.attr[0])) if self.row_names is None else v.attr[0] in self.row_names

    def row_constant(self, e: Expr) -> bool:
        """Does the value stay the same along the row? What a reduction walks over does not count."""
        stack, seen = [e], set()
        while stack:
            a = stack.pop()
            if id(a) in seen:
                continue
            seen.add(id(a))
            if a.op == "reduce":
                continue
            if a.op == "var" and self.varies(a):
                return False
            stack.extend(a.args)
        return True

    def rowwise(self, body: Expr) -> None:
        """Give every reduction, and every operator on reductions alone, its line before the row is written."""
        for e in walk(body):
            if e in self.stated:
                continue
            if e.op == "reduce":
                if self.plain or not wrapped(body, e):
                    self.statement(e, e.label or {"max": "m", "min": "m"}.get(e.attr[0], "total"))
            elif e.label and any(x.op == "reduce" for x in walk(e)) and self.row_constant(e):
                self.statement(e, e.label)

    def mask_terms(self, e: Expr, guard: Expr | None = None) -> list[str]:
        """Bounds of the vectors that an index varies with, and the load's own guard."""
        roots = self.roots_of(e)
        terms = [text for root, text in self.masks.items() if root in roots]
        if guard is not None and not is_const(guard, True):
            terms.append(self.text(guard))
        return terms

    # -------------------------------------------------------------- statements

    mark = "#"

    def note(self, text: str) -> None:
        """A line of comment, where the schedule asks for them."""
        if self.comments:
            self.lines.append(f"{self.indent}{self.mark} {text}")

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def open_scope(self, *roots: Expr) -> None:
        self.scopes.append(Scope(uses=count_uses(roots)))

    def close_scope(self) -> None:
        for name in self.scopes.pop().memo.values():
            if name.isidentifier() and name not in {a.name for a in self.arguments.values()}:
                self.names.discard(name)

    def known(self, e: Expr) -> str | None:
        for scope in reversed(self.scopes):
            if e in scope.memo:
                return scope.memo[e]
        return None

    def remember(self, e: Expr, name: str) -> None:
        self.scopes[-1].memo[e] = name

    def statement(self, e: Expr, base: str = "") -> str:
        """Give `e` a line of its own and return its name."""
        known = self.known(e)
        if known is not None:
            return known
        self.note_invariant(e)
        text = self.text(Expr(e.op, e.args, e.attr, e.dtype))
        name = self.value_name(e, base)
        self.assign(name, text, e.dtype)
        self.remember(e, name)
        self.stated.add(e)
        return name

    def depends_on_loop(self, e: Expr) -> bool:
        for name in variables(e):
            bound = self.bound.get(name)
            if name in self.loop_variables or (isinstance(bound, Expr) and self.depends_on_loop(bound)):
                return True
        return any(x.op in ("reduce", "dot", "scan") for x in walk(e))

    def note_invariant(self, e: Expr) -> None:
        if self.loop_variables and not self.depends_on_loop(e) and e not in self.invariant:
            self.invariant.append(e)

    def prelude(self) -> None:
        """Before a loop: what does not change in it."""
        before = set(self.stated)
        for e in self.hoist:
            if all(v in self.bound for v in variables(e)) and e not in self.stated - before:
                self.raw(e)
        self.hoist = []

    def value_name(self, e: Expr, base: str) -> str:
        """In the plain style a value takes the name of the first operand that is read here for the last time."""
        base = base or e.label
        freed = self.release(e) if self.plain else []
        if not self.plain or e.dtype in ("i32", "i64", "bool") or base.startswith("="):
            return self.fresh(base.lstrip("="))
        name = next((n for n in (*freed, *POOL) if self.free(n)), None) or self.fresh("v")
        self.give(name)
        self.scopes[-1].owner[name] = e
        return name

    def release(self, e: Expr) -> list[str]:
        """Count a reading of each operand of `e`; the names of those that nothing else reads are free again."""
        scope, freed = self.scopes[-1], []
        for operand in _named_operands(e):
            name = scope.memo.get(operand, "")
            if scope.owner.get(name) == operand:
                scope.uses[operand] = scope.uses.get(operand, 1) - 1
                if scope.uses[operand] <= 0:
                    self.names.discard(name)
                    del scope.owner[name], scope.memo[operand]
                    freed.append(name)
        return freed

    # -------------------------------------------------------------- expressions

    def text(self, e: Expr, need: int = 0) -> str:
        text, level = self.raw(e)
        return f"({text})" if level < need else text

    def raw(self, e: Expr) -> tuple[str, int]:
        """The text of an expression and how tightly it binds (10: an atom)."""
        known = self.known(e)
        if known is not None:
            return known, 10
        if e.label:
            return self.statement(e), 10
        if e.op == "var":
            target = self.bound.get(e.attr[0], e.attr[0])
            return (target, 10) if isinstance(target, str) else self.raw(target)
        if e.op == "const":
            return self.literal(e), 9 if isinstance(e.attr, (int, float)) and e.attr < 0 else 10
        if e.op == "dim":
            return self.size(e.attr), 10
        if e.op == "scalar":
            return self.scalar(e.attr), 10
        if e.op == "load":
            self.note_invariant(e)
            name = self.fresh(e.attr.hint)
            text = self.load_text(e)
            self.assign(name, text, e.dtype)
            self.remember(e, name)
            self.stated.add(e)
            if e.attr.text.isidentifier() and e.dtype == "f32":  # an input, no weight
                self.scopes[-1].owner[name] = e
            return name, 10
        if e.op in ("reduce", "dot", "scan"):
            return self.reduce_text(e), 10
        return self.operation(e)

    def operation(self, e: Expr) -> tuple[str, int]:
        if e.op == "float" and self.backend == "triton" and not variables(e) and e.args[0].dtype in INT:
            return self.raw(e.args[0])
        if e.op == "neg":
            return f"-{self.text(e.args[0], 9)}", 8
        if e.op in ("add", "sub", "mul", "div") and self.backend == "triton":
            e = bare_indices(e)
        if e.op in INFIX:
            sign, level = INFIX[e.op][0 if self.backend == "triton" else 1], INFIX[e.op][2]
            left = self.text(e.args[0], level if e.op not in ("and", "or") or self.backend == "cuda" else 6)
            right_level = level if e.op in ("and", "or") else level + 1
            if e.dtype in INT and associative(e.op, e.args[1]):
                right_level = level
            if e.op in ("and", "or") and self.backend == "triton":
                right_level = 6
                if e.args[0].op == e.op:
                    left = self.text(e.args[0], 0)
            right = self.text(e.args[1], right_level)
            return f"{left} {sign} {right}", level
        form = CALLS[e.op][0 if self.backend == "triton" else 1]
        level = LOOSE[self.backend].get(e.op, 10)
        need = 9 if e.op in ("float", "int", "not") or (self.backend == "cuda" and e.op in ("sigmoid",)) else 0
        if self.backend == "cuda" and e.op == "where":
            need = 6
        form, level = self.typed(e, form, level)
        return form.format(*(self.text(a, need) for a in e.args)), level

    def typed(self, e: Expr, form: str, level: int) -> tuple[str, int]:
        return form, level

    # -------------------------------------------------------------- syntax, given by the printers

    def assign(self, name: str, text: str, dtype: str) -> None:
        raise NotImplementedError

    def load_text(self, e: Expr) -> str:
        raise NotImplementedError

    def literal(self, e: Expr) -> str:
        raise NotImplementedError

    def reduce_text(self, e: Expr) -> str:
        raise NotImplementedError


def _collapse(index: list[Expr], shape: list[Expr], members: list[Expr], flat: Expr) -> tuple[list[Expr], list[Expr]]:
    kept = [v for v in members if value_of(v.attr[1]) != 1]
    if len(kept) < 2:
        return index, shape
    for j in range(len(index) - len(kept) + 1):
        if index[j : j + len(kept)] == kept and all(
            value_of(shape[j + t]) == value_of(kept[t].attr[1]) for t in range(1, len(kept))
        ):
            extent = product([v.attr[1] for v in kept])
            size = (
                extent
                if value_of(shape[j]) == value_of(kept[0].attr[1])
                else shape[j] * product([v.attr[1] for v in kept[1:]])
            )
            return [*index[:j], flat, *index[j + len(kept) :]], [*shape[:j], size, *shape[j + len(kept) :]]
    return index, shape


def _named_operands(e: Expr) -> list[Expr]:
    """The nearest labelled nodes and loads below `e`, in the order they are read."""
    out: dict[Expr, None] = {}
    stack = list(reversed(e.args))
    while stack:
        a = stack.pop()
        if a.label or a.op in ("load", "reduce", "dot", "scan"):
            out[a] = None
        else:
            stack.extend(reversed(a.args))
    return list(out)


def bare_indices(e: Expr) -> Expr:
    """Beside a float, an index needs no cast of its own (and a loop counter in the interpreter has none)."""
    args = tuple(
        a.args[0] if a.op == "float" and a.args[0].dtype == "i32" and not loads(a) and b.op != "float" else a
        for a, b in zip(e.args, reversed(e.args), strict=True)
    )
    return Expr(e.op, args, e.attr, e.dtype, e.label)


def wrapped(body: Expr, reduction: Expr) -> bool:
    """True if a labelled operator on the reduction will print it inside its own line."""
    parents = list({p for p in walk(body) if any(a == reduction for a in p.args)})
    return (
        len(parents) == 1
        and bool(parents[0].label)
        and parents[0].op != "where"
        and len(parents[0].args) <= 2
        and not any(a.op not in ("reduce", "const", "float", "dim", "int") for a in parents[0].args)
    )


def count_uses(roots: Iterable[Expr]) -> dict[Expr, int]:
    """How many statements read each named value."""
    uses: dict[Expr, int] = {}
    seen: set[Expr] = set()
    for root in roots:
        for operand in _named_operands(Expr("root", (root,))):
            uses[operand] = uses.get(operand, 0) + 1
        for e in walk(root):
            if (e.label or e.op in ("load", "reduce", "dot", "scan")) and e not in seen:
                seen.add(e)
                for operand in _named_operands(e):
                    uses[operand] = uses.get(operand, 0) + 1
    return uses


def finite_repr(value: float) -> str:
    """A float literal that reads back as the same number.

    >>> finite_repr(1e-05), finite_repr(2.0)
    ('1e-05', '2.0')
    """
    assert math.isfinite(value)
    return repr(float(value))
