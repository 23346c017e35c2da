"""Print a kernel as Triton. Every load and store is masked; sums are kept in fp32; products use IEEE fp32."""

from __future__ import annotations

import math
from collections.abc import Callable

from kzlib.teacher.emit import Emitter, finite_repr
from kzlib.teacher.expr import INT, Expr, const, is_const, product, substitute, value_of, var, variables, walk
from kzlib.teacher.host import size_text
from kzlib.teacher.kernel import Kernel, Printed
from kzlib.teacher.large import apart
from kzlib.teacher.scalars import REDUCTIONS

HELPERS = {
    "multiply": """
def multiply(a, b):
    return a * b
""",
    "larger": """
def larger(a, b):
    return tl.maximum(a, b)
""",
    "smaller": """
def smaller(a, b):
    return tl.minimum(a, b)
""",
    "log_add": """
def log_add(a, b):
    m = tl.maximum(a, b)
    return m + tl.log(1.0 + tl.exp(tl.minimum(a, b) - m))
""",
    "log1p": """
def log1p(x):
    u = 1.0 + x
    return tl.where(u == 1.0, x, tl.log(u) * (x / (u - 1.0)))
""",
    "erfc": """
def erfc(x):
    z = tl.abs(x)
    t = 1.0 / (1.0 + 0.5 * z)
    p = t * (-0.82215223 + t * 0.17087277)
    p = t * (-1.13520398 + t * (1.48851587 + p))
    p = t * (0.09678418 + t * (-0.18628806 + t * (0.27886807 + p)))
    p = t * (1.00002368 + t * (0.37409196 + p))
    h = tl.floor(z * 64.0) / 64.0  # its square is exact
    y = t * tl.exp(-h * h) * tl.exp((h - z) * (h + z) - 1.26551223 + p)
    return tl.where(x < 0.0, 2.0 - y, y)
""",
}
SCAN_HELPER = {"mul": "multiply", "max": "larger", "min": "smaller", "logadd": "log_add"}
COMBINE = {"add": "{0} + {1}", "mul": "{0} * {1}", "max": "tl.maximum({0}, {1})", "min": "tl.minimum({0}, {1})",
           "logadd": "log_add({0}, {1})"}  # fmt: skip
START = {"add": "0.0", "mul": "1.0", "max": '-float("inf")', "min": 'float("inf")', "logadd": '-float("inf")'}
WIDE = 2**31 - 2**20  # elements from which offsets, the last block's too, may not fit 32 bits


def print_triton(kernel: Kernel, plain: bool = True, taken: frozenset[str] = frozenset()) -> Printed:
    """The kernel's text and its launch line, under `kernel.schedule`."""
    dry = TritonPrinter(kernel, plain)
    dry.taken = taken
    printed = getattr(dry, f"{kernel.kind}_kernel")()
    if not dry.invariant:
        return printed
    printer = TritonPrinter(kernel, plain)
    printer.taken = taken
    printer.hoist = dry.invariant
    return getattr(printer, f"{kernel.kind}_kernel")()


RESERVED = {
    "map": {"i", "n", "mask"},
    "row": {"row", "r", "n", "mask", "s"},
    "reduce": {"row", "r", "n", "mask", "s"},
    "scan": {"row", "r", "n", "mask", "s", "carry", "part", "value"},
    "lanes": {"i", "n", "mask", "carry"},
    "dot": {"m", "n", "k", "z", "s", "acc", "M", "N", "K"},
}


class TritonPrinter(Emitter):
    backend = "triton"

    def __init__(self, kernel: Kernel, plain: bool):
        self.reserved = frozenset(RESERVED[kernel.kind])
        super().__init__(plain=plain)
        self.setup: list[str] = []
        self.comments = bool(kernel.schedule.get("comments"))
        self.kernel = kernel
        self.schedule = kernel.schedule
        self.mode = "serial"
        self.others: dict[Expr, str] = {}
        self.constexprs: list[tuple[str, str]] = []
        self.helpers: list[str] = []
        self.block = "BLOCK"
        self.depths: dict[str, int] = {}  # name -> the least indentation at which it was ever written
        self.wide = any(math.prod(b.sizes or (1,)) >= WIDE for b in self._buffers())

    def _buffers(self) -> list:
        return [e.attr for e in walk(self.kernel.body) if e.op == "load"] + [self.kernel.out]

    def free(self, name: str) -> bool:
        """A name that is written before a loop and in it is carried through it, and Triton wants one type for that."""
        return super().free(name) and self.depths.get(name, len(self.indent)) >= len(self.indent)

    def give(self, name: str) -> None:
        super().give(name)
        self.depths[name] = min(self.depths.get(name, len(self.indent)), len(self.indent))

    # -------------------------------------------------------------- syntax

    def assign(self, name: str, text: str, dtype: str) -> None:
        self.line(f"{name} = {text}")

    def literal(self, e: Expr) -> str:
        if isinstance(e.attr, bool):
            return str(e.attr)
        if e.dtype in INT:
            return str(e.attr)
        if math.isinf(e.attr):
            return 'float("inf")' if e.attr > 0 else '-float("inf")'
        return finite_repr(e.attr)

    def mask_of(self, e: Expr, guard: Expr | None = None) -> str:
        terms = self.mask_terms(e, guard)
        if len(terms) == 1:
            return terms[0]
        return " & ".join(t if t.isidentifier() or (t.startswith("(") and " & " in t) else f"({t})" for t in terms)

    def load_text(self, e: Expr) -> str:
        where = self.text(self.offset(e), 7)
        pointer = self.pointer(e.attr)
        mask = self.mask_of(self.offset(e), e.args[-1])
        at = pointer if where == "0" else f"{pointer} + {where}"
        for root in sorted(self.roots_of(e.args[-1]) - self.roots_of(self.offset(e))):
            at += f" + 0 * {self.bound['#' + root]}"  # a mask may not be wider than the addresses
        other = self.others.get(e, "0.0" if e.dtype not in (*INT, "bool") else "0")
        text = f"tl.load({at}, mask={mask}, other={other})" if mask else f"tl.load({at})"
        return f"{text}.to(tl.float32)" if e.attr.dtype in ("f16", "bf16") else text

    def store_line(self, value: Expr) -> None:
        text = self.text(value)
        store = self.kernel.store()
        where = self.text(self.offset(store), 7)
        mask = self.mask_of(self.offset(store), store.args[-1])
        if self.kernel.kind == "map" and where == "0":
            where, mask = "i", "mask"
        pointer = self.pointer(self.kernel.out)
        at = pointer if where == "0" else f"{pointer} + {where}"
        self.line(f"tl.store({at}, {text}, mask={mask})" if mask else f"tl.store({at}, {text})")

    def length(self, extent: Expr, name: str) -> str:
        """A loop or mask bound as a kernel argument called `name` (a literal when it is one)."""
        if extent.op == "const":
            return str(extent.attr)
        known = self.known(extent)
        if known:
            return known
        from kzlib.teacher.emit import Argument

        self.arguments[("length", name)] = Argument(name, self.host_name(name), "size", "i32")
        self.setup.append(f"{self.host_name(name)} = {size_text(extent)}")
        self.names.add(name)
        self.scopes[0].memo[extent] = name
        return name

    def program(self, axis: int) -> str:
        return f"tl.program_id({axis})" + (".to(tl.int64)" if self.wide else "")

    # -------------------------------------------------------------- kinds

    def map_kernel(self) -> Printed:
        k = self.kernel
        block = self.schedule.get("block", 1024)
        order = [v for v in k.space.outer if value_of(v.attr[1]) != 1]
        body = _drop_unit(k.body, k.space.outer)
        flat = var("#i", const(1 << 62))
        self.bind(flat, "i", {"i"})
        self.masks["i"] = "mask"
        self.arguments[("pointer", k.out.text)] = self._out_argument()
        self.length_numel()
        self.bind_flat(flat, order, [body, k.store()], {"i"})
        self.line(f"i = {self.program(0)} * BLOCK + tl.arange(0, BLOCK)")
        self.line("mask = i < n")
        self.mode = "serial"
        self.open_scope(body)
        self.store_line(body)
        self.constexprs = [("BLOCK", str(block))]
        fused = sum(1 for e in walk(body) if e.label and e.dtype == "f32") > 1
        return self.finish(f"(triton.cdiv({self.host_name('n')}, {block}),)", ("fusion",) if fused else ())

    def length_numel(self) -> None:
        from kzlib.teacher.emit import Argument

        self.arguments[("length", "n")] = Argument("n", self.host_name("n"), "size", "i32")
        self.setup.append(f"{self.host_name('n')} = {self.kernel.out.text}.numel()")

    def _out_argument(self):
        from kzlib.teacher.emit import Argument

        out = self.kernel.out
        name = "out_ptr"
        self.names.add(name)
        return Argument(name, out.text, "pointer", out.dtype, out)

    def _row_setup(self) -> tuple[Expr, Expr, Expr]:
        """Bind the program's row and the vector within it; gives body, row extent and the flat row variable."""
        k = self.kernel
        reduced = next((e for e in walk(k.body) if e.op == "reduce"), None)
        row = [v for v in k.space.row if not is_unit(v)] or list(reduced.attr[1:] if reduced is not None else ())
        body = _same_row(_drop_unit(k.body, (*k.space.outer, *k.space.row)), row)
        unit = (*k.space.outer, *k.space.row)
        self.state = [tuple(_same_row(_drop_unit(e, unit), row) for e in pair) for pair in k.state]
        extent = product([v.attr[1] for v in row])
        self.arguments[("pointer", k.out.text)] = self._out_argument()
        flat_row, flat = var("#row", const(1 << 62)), var("#r", extent)
        self.bind(flat_row, "row", set())
        self.bind(flat, "r", {"r"})
        self.masks["r"] = "mask"
        outer = [v for v in k.space.outer if value_of(v.attr[1]) != 1]
        self.length(extent, "n")
        if "chunk" in self.schedule:
            part = k.space.outer[-1]
            outer = [v for v in outer if v != part]
            self.bind(part, "part", set())
            self.line(f"part = {self.program(0)}")
        self.bind_flat(flat_row, outer, [body, k.store(), *(e for pair in self.state for e in pair)], set())
        self.bind_flat(flat, row, [body, k.store()], {"r"})
        if outer:
            self.line(f"row = {self.program(1 if 'chunk' in self.schedule else 0)}")
        return body, extent, flat

    def reduce_kernel(self) -> Printed:
        return self.row_kernel()

    def row_kernel(self) -> Printed:
        k = self.kernel
        body, extent, _flat = self._row_setup()
        one = self.schedule.get("passes", "one") == "one"
        n = self.length(extent, "n")
        self.mode = "block" if one else "loop"
        if one:
            self.constexprs = [("BLOCK", f"triton.next_power_of_2({self.host_name(n)})")]
            self.note("the whole row in one block; lanes beyond it are masked")
            self.line("r = tl.arange(0, BLOCK)")
            self.line(f"mask = r < {n}")
            self.choose_others(body)
            self.open_scope(body, *(e for _, e in self.state))
            self.rowwise(body)
            self.state_lines()
            self.store_line(body)
        else:
            self.constexprs = [("BLOCK", str(self.schedule.get("block", 1024)))]
            self.open_scope(body, *(e for _, e in self.state))
            self.rowwise(body)
            self.state_lines()
            if self.roots_of(Expr("index", k.store().args)):
                self.row_loop(n)
                self.open_scope(body)
                self.store_line(body)
                self.close_scope()
                self.indent = self.indent[:-4]
            else:
                self.store_line(body)
        principles = ("reduction", "fusion") if k.kind == "row" else ("reduction",)
        if "chunk" in self.schedule:
            self.constexprs.append(("CHUNK", str(self.schedule["chunk"])))
            rows = size_text(product([v.attr[1] for v in k.space.outer[:-1]]))
            return self.finish(f"({size_text(k.space.outer[-1].attr[1])}, {rows})", ("reduction", "tiling"))
        return self.finish(f"({self.rows()},)", principles + (() if one else ("tiling",)))

    def rows(self) -> str:
        outer = [v.attr[1] for v in self.kernel.space.outer]
        return size_text(product(outer))

    def state_lines(self) -> None:
        """The module's own statistics, written once a row."""
        for where, value in self.state:
            text, mask = self.text(value), self.mask_of(self.offset(where))
            at = f"{self.pointer(where.attr)} + {self.text(self.offset(where), 7)}"
            self.line(f"tl.store({at}, {text}, mask={mask})" if mask else f"tl.store({at}, {text})")

    def row_loop(self, n: str) -> None:
        self.prelude()
        self.loop_variables.add("#r")
        chunk = "chunk" in self.schedule
        self.line(f"for s in range(0, {'CHUNK' if chunk else n}, BLOCK):")
        self.indent += "    "
        self.line(f"r = {'part * CHUNK + ' if chunk else ''}s + tl.arange(0, BLOCK)")
        self.line(f"mask = r < {n}")

    def scan_kernel(self) -> Printed:
        body, extent, _flat = self._row_setup()
        n = self.length(extent, "n")
        scan = next(e for e in walk(body) if e.op == "scan")
        self.mode = "block"
        if self.schedule.get("passes", "one") == "one":
            self.constexprs = [("BLOCK", f"triton.next_power_of_2({self.host_name(n)})")]
            self.line("r = tl.arange(0, BLOCK)")
            self.line(f"mask = r < {n}")
            self.open_scope(body)
            self.store_line(body)
        else:
            self.constexprs = [("BLOCK", str(self.schedule.get("block", 1024)))]
            kind = scan.attr[0]
            identity = START[kind]
            self.line(f"carry = {identity}")
            self.row_loop(n)
            self.open_scope(body)
            value = self.text(scan.args[0])
            self.line(f"part = tl.where(mask, {value}, {identity})")
            combine = COMBINE[kind]
            self.line(f"value = {combine.format('carry', self.scan_text(kind, 'part'))}")
            self.line(f"carry = {combine.format('carry', self.collapse(kind, 'part'))}")
            self.scopes[-1].memo[scan] = "value"
            self.store_line(body)
        return self.finish(f"({self.rows()},)", ("reduction",))

    def lanes_kernel(self) -> Printed:
        """A row a lane: neighbouring lanes read neighbouring rows, which lie beside each other in memory."""
        k = self.kernel
        flat_state = [x for pair in k.state for x in pair]
        unit = (*k.space.outer, *k.space.row)
        body, *moved = apart([_drop_unit(x, unit) for x in (k.body, *flat_state)])
        self.state = list(zip(moved[::2], moved[1::2], strict=True))
        self.arguments[("pointer", k.out.text)] = self._out_argument()
        flat = var("#i", const(1 << 62))
        self.bind(flat, "i", {"i"})
        self.masks["i"] = "mask"
        n = self.length(product([v.attr[1] for v in k.space.outer]), "n")
        outer = [v for v in k.space.outer if not is_unit(v)]
        self.bind_flat(flat, outer, [body, k.store(), *(e for pair in self.state for e in pair)], {"i"})
        self.note("one row a lane; neighbouring lanes read neighbouring addresses")
        self.line(f"i = {self.program(0)} * BLOCK + tl.arange(0, BLOCK)")
        self.line(f"mask = i < {n}")
        summed = (v for x in walk(body) if x.op == "reduce" for v in x.attr[1:])
        self.row_names = frozenset(v.attr[0] for v in (*k.space.row, *summed))
        self.open_scope(body, *(e for _, e in self.state))
        self.rowwise(body)
        self.state_lines()
        scan = next((x for x in walk(body) if x.op == "scan"), None)
        if scan is not None:
            self.line(f"carry = tl.full((BLOCK,), {START[scan.attr[0]]}, tl.float32)")
        self.open_loops([v for v in k.space.row if not is_unit(v)])
        self.open_scope(body)
        if scan is not None:
            if scan.attr[0] == "logadd":
                self.use("log_add")
            self.line(f"carry = {COMBINE[scan.attr[0]].format('carry', self.text(scan.args[0]))}")
            self.scopes[-1].memo[scan] = "carry"
        self.store_line(body)
        self.constexprs = [("BLOCK", str(self.schedule.get("block", 256)))]
        return self.finish(f"(triton.cdiv({self.host_name(n)}, {self.schedule.get('block', 256)}),)",
                           ("reduction", "reordering"))  # fmt: skip

    def open_loops(self, variables: list[Expr]) -> Expr:
        """A loop an index variable, each lane by itself; gives the flat index."""
        self.prelude()
        flat: Expr = const(0)
        for v in variables:
            if v.attr[1].op == "const" and is_unit(v):
                self.bound[v.attr[0]] = "0"
                continue
            name = v.attr[0] if v.attr[0] not in self.names else self.fresh(v.attr[0])
            self.bind(v, name, set())
            self.loop_variables.add(v.attr[0])
            self.line(f"for {name} in range({self.text(v.attr[1])}):")
            self.indent += "    "
            flat = flat * v.attr[1] + v
        return flat

    def collapse(self, kind: str, text: str) -> str:
        if kind in ("add", "max", "min"):
            return f"tl.{REDUCTIONS[kind][1]}({text}, 0)"
        helper = SCAN_HELPER[kind]
        self.use(helper)
        return f"tl.reduce({text}, 0, {helper})"

    def scan_text(self, kind: str, text: str) -> str:
        if kind == "add":
            return f"tl.cumsum({text}, 0)"
        helper = SCAN_HELPER[kind]
        self.use(helper)
        return f"tl.associative_scan({text}, 0, {helper})"

    def use(self, helper: str) -> None:
        text = "@triton.jit" + HELPERS[helper]
        if text not in self.helpers:
            self.helpers.append(text)

    def operation(self, e: Expr) -> tuple[str, int]:
        if e.op in HELPERS:
            self.use(e.op)
        return super().operation(e)

    # -------------------------------------------------------------- reductions

    def identity(self, kind: str, dtype: str) -> str:
        value = REDUCTIONS[kind][0]
        if dtype in (*INT, "bool"):
            return {"add": "0", "mul": "1", "max": "-2147483648", "min": "2147483647"}[kind]
        return self.literal(const(float(value), "f32"))

    def reduce_text(self, e: Expr) -> str:
        if e.op == "scan":
            return self.scan_text(e.attr[0], self.text(e.args[0]))
        if e.op == "dot":
            e = Expr("reduce", (e.args[0] * e.args[1],), ("add", *e.attr[1:]), "f32")
        if self.mode == "block":
            return self.block_reduce(e)
        return self.loop_reduce(e) if self.mode == "loop" else self.serial_reduce(e)

    def masked(self, e: Expr, kind: str) -> str:
        """The reduction's operand with the lanes beyond the row set to the identity, unless they already are."""
        body = e.args[0]
        text = self.text(body)
        identity = {"argmax": '-float("inf")', "argmin": 'float("inf")'}.get(kind) or self.identity(kind, body.dtype)
        if lane_value(body, self.others, self.in_lanes) == {"argmax": -math.inf, "argmin": math.inf}.get(
            kind, REDUCTIONS.get(kind, (0,))[0]
        ):
            return text
        return f"tl.where(mask, {text}, {identity})"

    def in_lanes(self, ld: Expr) -> bool:
        return bool(self.mask_terms(self.offset(ld)))

    def block_reduce(self, e: Expr) -> str:
        kind = e.attr[0]
        text = self.masked(e, kind)
        if kind.startswith("arg"):
            return f"tl.{kind}({text}, 0)"
        return self.collapse(kind, text)

    def loop_reduce(self, e: Expr) -> str:
        kind, body = e.attr[0], e.args[0]
        n = self.kernel.row_length()
        bound = self.length(product([v.attr[1] for v in e.attr[1:]]), "n") if n else "0"
        dtype = {"i32": "tl.int32", "i64": "tl.int64", "bool": "tl.int32"}.get(body.dtype, "tl.float32")
        if kind.startswith("arg"):
            return self.loop_arg(e, bound)
        acc = self.fresh("acc")
        self.line(f"{acc} = tl.full((BLOCK,), {self.identity(kind, body.dtype)}, {dtype})")
        self.row_loop(bound)
        self.open_scope(body)
        text = self.masked(e, kind)
        if kind in ("add", "mul"):
            self.line(f"{acc} {'+' if kind == 'add' else '*'}= {text}")
        else:
            self.line(f"{acc} = {COMBINE[kind].format(acc, text)}")
        self.close_scope()
        self.indent = self.indent[:-4]
        return self.collapse(kind, acc)

    def loop_arg(self, e: Expr, bound: str) -> str:
        worst, sign, best_of = ('-float("inf")', ">", "max") if e.attr[0] == "argmax" else ('float("inf")', "<", "min")
        best, at = self.fresh("best"), self.fresh("at")
        self.line(f"{best} = tl.full((BLOCK,), {worst}, tl.float32)")
        self.line(f"{at} = tl.zeros((BLOCK,), tl.int32)")
        self.row_loop(bound)
        self.open_scope(e.args[0])
        value = self.fresh("value")
        self.line(f"{value} = {self.masked(e, e.attr[0])}")
        self.line(f"{at} = tl.where({value} {sign} {best}, r, {at})")
        self.line(f"{best} = tl.{best_of}imum({best}, {value})")
        self.close_scope()
        self.indent = self.indent[:-4]
        return f"tl.min(tl.where({best} == tl.{best_of}({best}, 0), {at}, {bound}), 0)"

    def serial_reduce(self, e: Expr) -> str:
        """A loop in every lane over the reduced indices."""
        kind, body = e.attr[0], e.args[0]
        arg = kind.startswith("arg")
        dtype = {"i32": "tl.int32", "i64": "tl.int64", "bool": "tl.int32"}.get(body.dtype, "tl.float32")
        acc = self.fresh("best" if arg else "acc")
        shape = "(BLOCK,)"
        start = {"argmax": '-float("inf")', "argmin": 'float("inf")'}.get(kind) or self.identity(kind, body.dtype)
        zero = start in ("0.0", "0")
        self.line(f"{acc} = tl.zeros({shape}, {dtype})" if zero else f"{acc} = tl.full({shape}, {start}, {dtype})")
        at = ""
        if arg:
            at = self.fresh("at")
            self.line(f"{at} = tl.zeros({shape}, tl.int32)")
        depth = self.indent
        flat = self.open_loops(list(e.attr[1:]))
        self.open_scope(body)
        text = self.text(body)
        if arg:
            value = self.fresh("value")
            self.line(f"{value} = {text}")
            self.line(f"{at} = tl.where({value} {'>' if kind == 'argmax' else '<'} {acc}, {self.text(flat)}, {at})")
            self.line(f"{acc} = tl.{kind[3:]}imum({acc}, {value})")
        elif kind in ("add", "mul"):
            self.line(f"{acc} {'+' if kind == 'add' else '*'}= {text}")
        else:
            self.line(f"{acc} = {COMBINE[kind].format(acc, text)}")
        self.close_scope()
        self.loop_variables -= {v.attr[0] for v in e.attr[1:]}
        self.indent = depth
        return at if arg else acc

    def choose_others(self, body: Expr) -> None:
        """Pick what masked-off loads give (0 or the first reduction's identity) so that fewest selects are needed.

        A load with a guard of its own, as of padding, gives 0 where that fails: the value there, not a lane left over.
        """
        reduces = [e for e in walk(body) if e.op == "reduce"]
        if not reduces:
            return
        kind = reduces[0].attr[0]
        wanted = {"argmax": -math.inf, "argmin": math.inf}.get(kind, REDUCTIONS.get(kind, (0.0,))[0])
        loads = [
            e
            for e in walk(body)
            if e.op == "load"
            and e.dtype not in (*INT, "bool")
            and is_const(e.args[-1], True)
            and self.roots_of(Expr("i", e.args))
        ]
        plans: list[dict[Expr, str]] = [{}]
        if math.isinf(wanted):
            plans.append(dict.fromkeys(loads, self.literal(const(wanted, "f32"))))

        def selects(plan: dict[Expr, str]) -> int:
            return sum(
                lane_value(e.args[0], plan, self.in_lanes)
                != {"argmax": -math.inf, "argmin": math.inf}.get(e.attr[0], REDUCTIONS.get(e.attr[0], (0,))[0])
                for e in reduces
            )

        self.others = min(plans, key=selects)

    # -------------------------------------------------------------- tiled products

    def dot_kernel(self) -> Printed:
        k = self.kernel
        self.arguments[("pointer", k.out.text)] = self._out_argument()
        reduced = list(next(e for e in walk(k.body) if e.op == "dot").attr[1:])
        sizes = {
            name: self.length(product([v.attr[1] for v in members]), name.upper())
            for name, members in (("m", k.space.m), ("n", k.space.n), ("k", tuple(reduced)))
        }
        body = self.dot_tile(sizes)
        dot = next(e for e in walk(body) if e.op == "dot")
        self.note("walk the inner dimension in tiles; the sum stays in fp32 registers")
        self.line("acc = tl.zeros((BM, BN), tl.float32)")
        stages = self.schedule.get("stages")
        loop = f"range(0, {sizes['k']}, BK)" if not stages else f"tl.range(0, {sizes['k']}, BK, num_stages={stages})"
        self.open_scope(body)
        self.prelude()
        self.loop_variables.add("#k")
        self.line(f"for s in {loop}:")
        self.indent += "    "
        self.line("k = s + tl.arange(0, BK)")
        inside: set[str] = set()
        a, b = (self.dot_operand(dot.args[i], "mn"[i], reduced, sizes["k"], inside) for i in (0, 1))
        del self.masks["k"]
        self.loop_variables.clear()
        self.note("epilogue on the tile before it is written once")
        precision = self.schedule.get("precision", "ieee")
        self.line(f'acc = tl.dot({a}, {b}, acc, input_precision="{precision}")')
        self.indent = self.indent[:-4]
        if self.plain:
            self.names -= inside
        self.scopes[-1].memo[dot] = "acc"
        self.store_line(body)
        fused = any(e.label and e.dtype == "f32" for e in walk(body))
        return self.finish(self.dot_grid(sizes), ("tiling",) + (("fusion",) if fused else ()))

    def dot_tile(self, sizes: dict[str, str]) -> Expr:
        """Names this program's rows m, columns n and batch z; returns the kernel's body without dimensions of one."""
        k, stored = self.kernel, self.kernel.store()
        m, n, z = (var(x, const(1 << 62)) for x in ("#m", "#n", "#z"))
        self.bind(m, "m", {"m"})
        self.bind(n, "n", {"n"})
        body = substitute(k.body, {v.attr[0]: const(0) for v in (*k.space.m, *k.space.n, *k.space.batch) if is_unit(v)})
        self.bind_flat(m, [v for v in k.space.m if not is_unit(v)], [body, stored], {"m"})
        self.bind_flat(n, [v for v in k.space.n if not is_unit(v)], [body, stored], {"n"})
        self.masks = {"m": f"m < {sizes['m']}", "n": f"n < {sizes['n']}"}
        self.bind(z, "z", set())
        first, second = (1, 0) if k.space.across else (0, 1)
        self.line(f"m = {self.program(first)} * BM + tl.arange(0, BM)[:, None]")
        self.line(f"n = {self.program(second)} * BN + tl.arange(0, BN)[None, :]")
        if batch := [v for v in k.space.batch if not is_unit(v)]:
            self.bind_flat(z, batch, [body, stored], set())
            self.line(f"z = {self.program(2)}")
        return body

    def dot_operand(self, operand: Expr, side: str, reduced: list[Expr], length: str, inside: set[str]) -> str:
        """One operand's tile: (BM, BK) for side "m", (BK, BN) for "n". Names made in the loop go to `inside`."""
        kk, text = var("#k", const(1 << 62)), {"m": "k[None, :]", "n": "k[:, None]"}[side]
        self.bind(kk, text, {"k"})
        self.names.discard(text)
        self.masks["k"] = f"{text} < {length}"
        self.domains = [d for d in self.domains if d[1].attr[0] != "#k" and not set(d[0]) & set(reduced)]
        for v in reduced:
            self.roots.pop(v.attr[0], None)
        self.bind_flat(kk, [v for v in reduced if not is_unit(v)], [operand], {"k"})
        self.open_scope(operand)
        name = self.text(substitute(operand, {v.attr[0]: const(0) for v in reduced if is_unit(v)}))
        inside.update(self.scopes.pop().memo.values())
        roots = {r for load in walk(operand) if load.op == "load" for r in self.roots_of(self.offset(load))}
        if roots >= {side, "k"}:
            return name
        return f"tl.broadcast_to({name}, {'(BM, BK)' if side == 'm' else '(BK, BN)'})"

    def dot_grid(self, sizes: dict[str, str]) -> str:
        space, (bm, bn, bk) = self.kernel.space, self.schedule.get("tile", (64, 64, 32))
        self.constexprs = [("BM", str(bm)), ("BN", str(bn)), ("BK", str(bk))]
        tuned = bool(self.schedule.get("autotune"))
        tiles = [("m", 'meta["BM"]' if tuned else str(bm)), ("n", 'meta["BN"]' if tuned else str(bn))]
        grid = [f"triton.cdiv({self.host_name(sizes[name])}, {tile})" for name, tile in tiles]
        if space.across:
            grid.reverse()
        if batch := [v for v in space.batch if not is_unit(v)]:
            grid.append(size_text(product([v.attr[1] for v in batch])))
        return f"{'lambda meta: ' if tuned else ''}({', '.join(grid)})"

    # -------------------------------------------------------------- text

    def finish(self, grid: str, principles: tuple[str, ...]) -> Printed:
        k = self.kernel
        order = {"pointer": 0, "size": 1, "scalar": 2}
        args = sorted(self.arguments.values(), key=lambda a: (order[a.kind], a.buffer is k.out))
        params = [a.name for a in args] + [f"{name}: tl.constexpr" for name, _ in self.constexprs]
        head = f"@triton.jit\ndef {k.name}({', '.join(params)}):\n"
        tuned = k.kind == "dot" and bool(self.schedule.get("autotune"))
        filled = [a.host for a in args]
        warps = self.schedule.get("num_warps")
        if tuned:
            sizes = ", ".join(f'"{name}": {value}' for name, value in self.constexprs)
            keys = ", ".join(f'"{a.name}"' for a in args if a.name in ("M", "N", "K"))
            head = (
                f"@triton.autotune(configs=[triton.Config({{{sizes}}}, num_warps={warps or 4})], key=[{keys}])\n{head}"
            )
        else:
            filled += [f"{name}={value}" for name, value in self.constexprs]
        if warps and not tuned:
            filled.append(f"num_warps={warps}")
        launch = f"{k.name}[{grid}]({', '.join(filled)})"
        return Printed(
            k.name, head + "\n".join(self.lines) + "\n", launch, tuple(self.helpers), principles, tuple(self.setup)
        )


def is_unit(v: Expr) -> bool:
    return value_of(v.attr[1]) == 1


def _drop_unit(body: Expr, order: tuple[Expr, ...]) -> Expr:
    unit = {v.attr[0]: const(0) for v in order if is_unit(v)}
    return substitute(body, unit) if unit else body


def _same_row(body: Expr, row: list[Expr]) -> Expr:
    """Rename every reduction's indices to the row's own, so that one load serves all passes."""
    table: dict[str, Expr] = {}
    for e in walk(body):
        if e.op == "reduce":
            for mine, theirs in zip(row, e.attr[1:], strict=True):
                table[theirs.attr[0]] = mine
    if not table:
        return body
    from kzlib.teacher.expr import rewrite

    def change(e: Expr) -> Expr | None:
        if e.op == "var":
            return table.get(e.attr[0])
        if e.op == "reduce" and tuple(e.attr[1:]) != tuple(row):
            return Expr("reduce", (rewrite(e.args[0], change, memo),), (e.attr[0], *row), e.dtype, e.label)
        return None

    memo: dict[int, Expr] = {}
    return rewrite(body, change, memo)


def lane_value(e: Expr, others: dict[Expr, str], in_lanes: Callable[[Expr], bool]) -> float | None:
    """What an operand is on a lane beyond the row, or None if that is not known. `in_lanes` says whether a load is
    masked there; one that is the same for the whole row is some finite number on every lane."""
    if e.op == "load":
        if e.dtype in (*INT, "bool"):
            return None
        if not variables(e):
            return None
        if not in_lanes(e):
            return 0.359375
        return {'-float("inf")': -math.inf, 'float("inf")': math.inf}.get(others.get(e, ""), 0.0)
    if e.op == "const":
        return float(e.attr)
    if e.op == "reduce":
        return 0.734375  # any finite number
    values = [lane_value(a, others, in_lanes) for a in e.args]
    if any(v is None for v in values):
        return None
    try:
        function = _EVAL.get(e.op)
        return function(*values) if function is not None else None
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


_EVAL: dict[str, Callable[..., float | None]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: None if math.isinf(a) or math.isinf(b) else a * b,
    "exp": math.exp,
    "abs": abs,
    "neg": lambda a: -a,
    "max": max,
    "min": min,
    "div": lambda a, b: None if math.isinf(a) else a / b,
}
