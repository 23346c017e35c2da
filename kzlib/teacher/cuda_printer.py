"""Print a kernel as CUDA C++: a thread an element, a block a row, or a shared-memory tile of a product.

Two forms: `load_inline` (KernelBench's) and NVRTC through `torch.cuda._compile_kernel`. The expression tree and the
index arithmetic are the ones that Triton gets.
"""

from __future__ import annotations

import math
import re
from typing import Any

from kzlib.teacher.emit import Argument, Emitter, finite_repr
from kzlib.teacher.expr import INT, TRUE, Expr, const, product, substitute, var, walk
from kzlib.teacher.graph import Unsupported
from kzlib.teacher.host import size_text
from kzlib.teacher.kernel import Kernel, Printed
from kzlib.teacher.large import apart, stride
from kzlib.teacher.module import assemble
from kzlib.teacher.plan import Plan
from kzlib.teacher.triton_printer import RESERVED, WIDE, _drop_unit, _same_row, is_unit

TYPES = {"f32": "float", "i32": "int", "i64": "int64_t", "bool": "bool"}
COMBINE = {"add": "{0} + {1}", "mul": "{0} * {1}", "max": "fmaxf({0}, {1})", "min": "fminf({0}, {1})"}
BLOCK_NAMES = {"add": "block_sum", "max": "block_max", "min": "block_min", "mul": "block_product"}
TILE = 16
TILE_NAMES = {"rows", "batches", "ka", "kb", "t", "a_tile", "b_tile"}
SPLIT_NAMES = {"chunks", "part", "shared", "carry", "value"}
SQUARE_NAMES = {"ti", "tj", "m0", "n0", "a_row", "b_row"}
START = {"add": "0.0f", "mul": "1.0f", "max": "-INFINITY", "min": "INFINITY", "logadd": "-INFINITY"}
SCAN_NAMES = {"add": "scan_sum", "mul": "scan_product", "max": "scan_max", "min": "scan_min", "logadd": "scan_log_sum"}
FOLD = {**COMBINE, "logadd": "{0} == -INFINITY ? {1} : fmaxf({0}, {1}) + log1pf(expf(-fabsf({0} - {1})))"}


def block_helper(kind: str) -> str:
    """A reduction over the block whose result every thread gets: shuffles within a warp, then shared memory."""
    fold = {"add": "v += {0};", "mul": "v *= {0};", "max": "v = v > {0} ? v : {0};", "min": "v = v < {0} ? v : {0};"}[
        kind
    ]
    return (
        f"template <typename T>\n__device__ T {BLOCK_NAMES[kind]}(T v) {{\n"
        "    __shared__ T parts[32];\n"
        "    for (int step = 16; step > 0; step /= 2) {\n"
        "        T other = __shfl_xor_sync(0xffffffff, v, step);\n"
        f"        {fold.format('other')}\n"
        "    }\n"
        "    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;\n"
        "    __syncthreads();\n"
        "    v = parts[0];\n"
        "    for (int w = 1; w < blockDim.x / 32; w++) {\n"
        f"        {fold.format('parts[w]')}\n"
        "    }\n"
        "    __syncthreads();\n"
        "    return v;\n"
        "}\n"
    )


def scan_helper(kind: str) -> str:
    """A running fold over the block: every thread gets the fold of its own and all earlier threads' values."""
    return (
        f"__device__ float {SCAN_NAMES[kind]}(float v, float* shared) {{\n"
        "    for (int step = 1; step < blockDim.x; step *= 2) {\n"
        "        shared[threadIdx.x] = v;\n"
        "        __syncthreads();\n"
        f"        float before = threadIdx.x >= step ? shared[threadIdx.x - step] : {START[kind]};\n"
        "        __syncthreads();\n"
        f"        v = {FOLD[kind].format('before', 'v')};\n"
        "    }\n"
        "    return v;\n"
        "}\n"
    )


class CudaPrinter(Emitter):
    backend = "cuda"
    mark = "//"

    def __init__(self, kernel: Kernel, plain: bool):
        self.reserved = frozenset(
            RESERVED[kernel.kind]
            | TILE_NAMES
            | (SQUARE_NAMES if kernel.kind == "dot" and kernel.schedule.get("register_tile") else set())
            | (SPLIT_NAMES if kernel.kind in ("scan", "lanes") or "chunk" in kernel.schedule else set())
        )
        super().__init__(plain=plain)
        self.kernel, self.schedule = kernel, kernel.schedule
        self.setup: list[str] = []
        self.comments = bool(kernel.schedule.get("comments"))
        self.helpers: list[str] = []
        self.mode = "serial"
        self.declared: list[dict[str, str]] = [{}]
        buffers = [e.attr for e in walk(kernel.body) if e.op == "load"] + [kernel.out]
        self.wide = any(math.prod(b.sizes or (1,)) >= WIDE for b in buffers)
        if any(b.dtype in ("f16", "bf16") for b in buffers):
            raise Unsupported("half precision in CUDA")

    # -------------------------------------------------------------- syntax

    def type_of(self, dtype: str) -> str:
        return "long long" if dtype == "i32" and self.wide else TYPES.get(dtype, "float")

    def value_name(self, e: Expr, base: str) -> str:
        """As in any printer; but a name keeps its type as long as its declaration can be seen."""
        name = super().value_name(e, base)
        while any(scope.get(name, e.dtype) != e.dtype for scope in self.declared):
            name = self.fresh(name)
        return name

    def assign(self, name: str, text: str, dtype: str) -> None:
        if any(name in scope for scope in self.declared):
            self.line(f"{name} = {text};")
        else:
            self.declared[-1][name] = dtype
            self.line(f"{self.type_of(dtype)} {name} = {text};")

    def literal(self, e: Expr) -> str:
        if isinstance(e.attr, bool):
            return "true" if e.attr else "false"
        if e.dtype in INT:
            return str(e.attr)
        if math.isinf(e.attr):
            return "INFINITY" if e.attr > 0 else "-INFINITY"
        return finite_repr(e.attr) + "f"

    def typed(self, e: Expr, form: str, level: int) -> tuple[str, int]:
        if e.dtype in INT and e.op in ("max", "min"):
            return ("max({0}, {1})" if e.op == "max" else "min({0}, {1})"), 10
        if e.op == "int" and e.dtype == "i64":
            return "(int64_t){0}", level
        return form, level

    def load_text(self, e: Expr) -> str:
        offset = self.offset(e)
        terms = self.mask_terms(offset, e.args[-1])
        text = f"{self.pointer(e.attr)}[{self.text(offset)}]"
        if not terms:
            return text
        zero = "0" if e.dtype in INT else "false" if e.dtype == "bool" else "0.0f"
        return f"{' && '.join(f'({t})' if '||' in t else t for t in terms)} ? {text} : {zero}"

    def store_line(self, value: Expr, lead: str = "") -> None:
        text = self.text(value)
        store = self.kernel.store()
        offset = self.text(self.offset(store))
        if store.args[-1] != TRUE:
            lead = f"if ({self.text(store.args[-1])}) {lead}"
        self.line(f"{lead}{self.pointer(self.kernel.out)}[{offset}] = {text};")

    def open_block(self, head: str) -> None:
        self.line(head + " {")
        self.indent += "    "
        self.declared.append({})

    def close_block(self) -> None:
        self.indent = self.indent[:-4]
        self.declared.pop()
        self.line("}")

    def length(self, extent: Expr, name: str) -> str:
        if extent.op == "const":
            return str(extent.attr)
        known = self.known(extent)
        if known:
            return known
        self.arguments[("length", name)] = Argument(name, self.host_name(name), "size", "i32")
        self.setup.append(f"{self.host_name(name)} = {size_text(extent)}")
        self.names.add(name)
        self.scopes[0].memo[extent] = name
        return name

    # -------------------------------------------------------------- kinds

    def out_argument(self) -> None:
        out = self.kernel.out
        self.names.add("out_ptr")
        self.arguments[("pointer", out.text)] = Argument("out_ptr", out.text, "pointer", out.dtype, out)

    def map_kernel(self) -> Printed:
        k = self.kernel
        body = _drop_unit(k.body, k.space.outer)
        flat = var("#i", const(1 << 62))
        self.bind(flat, "i", {"i"})
        self.out_argument()
        self.arguments[("length", "n")] = Argument("n", self.host_name("n"), "size", "i32")
        self.setup.append(f"{self.host_name('n')} = {k.out.text}.numel()")
        self.bind_flat(flat, [v for v in k.space.outer if not is_unit(v)], [body, k.store()], {"i"})
        self.line(f"{self.type_of('i32')} i = {self.wide_cast('blockIdx.x')} * blockDim.x + threadIdx.x;")
        self.line("if (i >= n) return;")
        self.open_scope(body)
        self.store_line(body)
        threads = self.schedule.get("threads", 256)
        fused = sum(1 for e in walk(body) if e.label and e.dtype == "f32") > 1
        return self.finish(f"(n + {threads - 1}) / {threads}", str(threads), ("fusion",) if fused else ())

    def wide_cast(self, text: str) -> str:
        return f"(long long){text}" if self.wide else text

    def reduce_kernel(self) -> Printed:
        return self.row_kernel()

    def row_kernel(self) -> Printed:
        k = self.kernel
        chunk = "chunk" in self.schedule
        body, n, _flat, _outer = self.row_setup("blockIdx.y" if chunk else "blockIdx.x")
        self.mode = "loop"
        self.open_scope(body, *(e for _, e in self.state))
        self.rowwise(body)
        self.state_lines()
        if self.roots_of(self.offset(k.store())):
            self.row_loop(n)
            self.open_scope(body)
            self.store_line(body)
            self.close_scope()
            self.close_block()
        else:
            self.store_line(body, "if (threadIdx.x == 0) ")
        principles = ("reduction", "fusion") if k.kind == "row" else ("reduction",)
        if chunk:
            parts = k.space.outer[-1].attr[1]
            self.setup.append(f"chunks = {size_text(parts)}")
            return self.finish("dim3(chunks, rows)", "256", ("reduction", "tiling"))
        return self.finish("rows", str(self.schedule.get("threads", 256)), principles)

    def row_setup(self, program: str) -> tuple[Expr, str, Expr, list[Expr]]:
        k = self.kernel
        reduced = next((e for e in walk(k.body) if e.op == "reduce"), None)
        row = [v for v in k.space.row if not is_unit(v)] or list(reduced.attr[1:] if reduced is not None else ())
        body = _same_row(_drop_unit(k.body, (*k.space.outer, *k.space.row)), row)
        unit = (*k.space.outer, *k.space.row)
        self.state = [tuple(_same_row(_drop_unit(e, unit), row) for e in pair) for pair in k.state]
        extent = product([v.attr[1] for v in row])
        self.out_argument()
        flat_row, flat = var("#row", const(1 << 62)), var("#r", extent)
        self.bind(flat_row, "row", set())
        self.bind(flat, "r", {"r"})
        outer = [v for v in k.space.outer if not is_unit(v)]
        n = self.length(extent, "n")
        every = list(k.space.outer)
        if "chunk" in self.schedule:
            part = every.pop()
            outer = [v for v in outer if v != part]
            self.bind(part, "part", set())
            self.line(f"{self.type_of('i32')} part = blockIdx.x;")
        self.bind_flat(flat_row, outer, [body, k.store(), *(e for pair in self.state for e in pair)], set())
        self.bind_flat(flat, row, [body, k.store()], {"r"})
        self.setup.append(f"rows = {size_text(product([v.attr[1] for v in every]))}")
        if outer or program not in ("blockIdx.x", "blockIdx.y"):
            self.line(f"{self.type_of('i32')} row = {program};")
        return body, n, flat, outer

    def state_lines(self) -> None:
        """The module's own statistics, written once a row."""
        for where, value in self.state:
            text, only = self.text(value), "if (threadIdx.x == 0) " if self.kernel.kind != "lanes" else ""
            self.line(f"{only}{self.pointer(where.attr)}[{self.text(self.offset(where))}] = {text};")

    def row_loop(self, n: str) -> None:
        self.prelude()
        self.loop_variables.add("#r")
        index = self.type_of("i32")
        if "chunk" in self.schedule:
            chunk = self.schedule["chunk"]
            stop = f"min({index}({n}), (part + 1) * {chunk})"
            self.open_block(f"for ({index} r = part * {chunk} + threadIdx.x; r < {stop}; r += blockDim.x)")
        else:
            self.open_block(f"for ({index} r = threadIdx.x; r < {n}; r += blockDim.x)")

    def lanes_kernel(self) -> Printed:
        """One thread a row; neighbouring threads read neighbouring rows, which lie beside each other in memory."""
        k = self.kernel
        flat_state = [x for pair in k.state for x in pair]
        unit = (*k.space.outer, *k.space.row)
        body, *moved = apart([_drop_unit(x, unit) for x in (k.body, *flat_state)])
        self.state = list(zip(moved[::2], moved[1::2], strict=True))
        self.out_argument()
        flat = var("#i", const(1 << 62))
        self.bind(flat, "i", {"i"})
        n = self.length(product([v.attr[1] for v in k.space.outer]), "n")
        outer = [v for v in k.space.outer if not is_unit(v)]
        self.bind_flat(flat, outer, [body, k.store(), *(e for pair in self.state for e in pair)], {"i"})
        self.line(f"{self.type_of('i32')} i = {self.wide_cast('blockIdx.x')} * blockDim.x + threadIdx.x;")
        self.line(f"if (i >= {n}) return;")
        summed = (v for x in walk(body) if x.op == "reduce" for v in x.attr[1:])
        self.row_names = frozenset(v.attr[0] for v in (*k.space.row, *summed))
        self.open_scope(body, *(e for _, e in self.state))
        self.rowwise(body)
        self.state_lines()
        scan = next((x for x in walk(body) if x.op == "scan"), None)
        if scan is not None:
            self.assign("value", START[scan.attr[0]], "f32")
        row = [v for v in k.space.row if not is_unit(v)]
        self.serial_loops(row)
        self.open_scope(body)
        if scan is not None:
            self.running(scan)
        self.store_line(body)
        self.close_scope()
        for _ in row:
            self.close_block()
        threads = self.schedule.get("block", 256)
        return self.finish(f"({n} + {threads - 1}) / {threads}", str(threads), ("reduction", "reordering"))

    def running(self, scan: Expr) -> None:
        """Fold the next element into `value`."""
        x = self.text(scan.args[0])
        if scan.attr[0] == "logadd":
            x = self.statement(scan.args[0], "x")
        self.line(f"value = {FOLD[scan.attr[0]].format('value', x)};")
        self.scopes[-1].memo[scan] = "value"

    def scan_kernel(self) -> Printed:
        if self.kernel.row_length() >= 512:
            return self.block_scan_kernel()
        return self.thread_scan_kernel()

    def block_scan_kernel(self) -> Printed:
        """A block a row: chunks of a thread an element, scanned together; the carry goes from chunk to chunk."""
        body, n, _flat, _outer = self.row_setup("blockIdx.x")
        scan = next(e for e in walk(body) if e.op == "scan")
        kind, threads = scan.attr[0], 256
        self.helpers.append(scan_helper(kind))
        self.line(f"__shared__ float shared[{threads}];")
        self.assign("carry", START[kind], "f32")
        self.loop_variables.add("#r")
        self.open_block(f"for (int s = 0; s < {n}; s += blockDim.x)")
        self.line("int r = s + threadIdx.x;")
        self.masks["r"] = f"r < {n}"
        self.open_scope(body)
        x = self.text(scan.args[0])
        self.line(f"float part = r < {n} ? {x} : {START[kind]};")
        self.line(f"part = {SCAN_NAMES[kind]}(part, shared);")
        self.line(f"float value = {FOLD[kind].format('carry', 'part')};")
        self.line("shared[threadIdx.x] = value;")
        self.line("__syncthreads();")
        self.line("carry = shared[blockDim.x - 1];")
        self.line("__syncthreads();")
        self.scopes[-1].memo[scan] = "value"
        self.open_block(f"if (r < {n})")
        self.store_line(body)
        self.close_block()
        self.close_scope()
        self.close_block()
        return self.finish("rows", str(threads), ("reduction", "tiling"))

    def thread_scan_kernel(self) -> Printed:
        """One thread a row, the running value in a register."""
        body, n, _flat, _outer = self.row_setup("blockIdx.x * blockDim.x + threadIdx.x")
        self.line("if (row >= rows) return;")
        self.arguments[("length", "rows")] = Argument("rows", "rows", "size", "i32")
        scan = next(e for e in walk(body) if e.op == "scan")
        kind = scan.attr[0]
        self.assign("value", START[kind], "f32")
        self.loop_variables.add("#r")
        self.open_block(f"for (int r = 0; r < {n}; r++)")
        self.open_scope(body)
        self.running(scan)
        self.store_line(body)
        self.close_scope()
        self.close_block()
        threads = self.schedule.get("threads", 256)
        return self.finish(f"(rows + {threads - 1}) / {threads}", str(threads), ("reduction",))

    # -------------------------------------------------------------- reductions

    def identity(self, kind: str, dtype: str) -> str:
        if dtype in (*INT, "bool"):
            return {"add": "0", "mul": "1", "max": "-2147483647", "min": "2147483647"}[kind]
        return {"add": "0.0f", "mul": "1.0f", "max": "-INFINITY", "min": "INFINITY"}[kind]

    def reduce_text(self, e: Expr) -> str:
        if e.op == "dot":
            e = Expr("reduce", (e.args[0] * e.args[1],), ("add", *e.attr[1:]), "f32")
        kind, body = e.attr[0], e.args[0]
        arg = kind.startswith("arg")
        dtype = body.dtype if body.dtype in INT else "f32"
        acc = self.fresh("best" if arg else "acc")
        start = self.identity(kind[3:] if arg else kind, "f32" if arg else body.dtype)
        self.assign(acc, start, dtype if not arg else "f32")
        at = ""
        if arg:
            at = self.fresh("at")
            self.assign(at, "0", "i32")
        flat = self.open_loops(e)
        self.open_scope(body)
        text = self.text(body)
        if arg:
            sign = ">" if kind == "argmax" else "<"
            value = self.fresh("value")
            self.assign(value, text, "f32")
            self.line(f"if ({value} {sign} {acc}) {{ {acc} = {value}; {at} = {flat}; }}")
        elif kind in ("add", "mul"):
            self.line(f"{acc} {'+' if kind == 'add' else '*'}= {text};")
        else:
            self.line(f"{acc} = {self.combine(kind, acc, text, dtype)};")
        self.close_scope()
        self.close_loops(e)
        if self.mode == "serial":
            return at if arg else acc
        return self.block_result(kind, acc, at)

    def combine(self, kind: str, a: str, b: str, dtype: str) -> str:
        return f"{kind}({a}, {b})" if dtype in INT else COMBINE[kind].format(a, b)

    def open_loops(self, e: Expr) -> str:
        self.prelude()
        if self.mode == "loop":
            self.row_loop(self.length(product([v.attr[1] for v in e.attr[1:]]), "n"))
            return "r"
        return self.text(self.serial_loops(list(e.attr[1:])))

    def serial_loops(self, variables: list[Expr]) -> Expr:
        """A loop an index variable, each thread by itself; gives the flat index."""
        self.prelude()
        flat: Expr = const(0)
        for v in variables:
            name = v.attr[0] if v.attr[0] not in self.names else self.fresh(v.attr[0])
            self.bind(v, name, set())
            self.loop_variables.add(v.attr[0])
            self.open_block(f"for (int {name} = 0; {name} < {self.text(v.attr[1])}; {name}++)")
            flat = flat * v.attr[1] + v
        return flat

    def close_loops(self, e: Expr) -> None:
        for _ in e.attr[1:] if self.mode == "serial" else (0,):
            self.close_block()
        self.loop_variables -= {v.attr[0] for v in e.attr[1:]}

    def block_result(self, kind: str, acc: str, at: str) -> str:
        if kind.startswith("arg"):
            self.use(kind[3:], "min")
            top = self.fresh("top")
            self.assign(top, f"{BLOCK_NAMES[kind[3:]]}({acc})", "f32")
            return f"block_min({acc} == {top} ? {at} : 2147483647)"
        self.use(kind)
        return f"{BLOCK_NAMES[kind]}({acc})"

    def use(self, *kinds: str) -> None:
        for kind in kinds:
            if block_helper(kind) not in self.helpers:
                self.helpers.append(block_helper(kind))

    # -------------------------------------------------------------- tiled products

    def dot_kernel(self) -> Printed:
        """A thread an element of the tile, or a square of elements where the schedule asks for it."""
        k = self.kernel
        side = self.schedule.get("register_tile", 1)
        width = TILE * side
        self.out_argument()
        unit = {v.attr[0]: const(0) for v in (*k.space.m, *k.space.n, *k.space.batch) if is_unit(v)}
        body = substitute(k.body, unit)
        dot = next(e for e in walk(body) if e.op == "dot")
        reduced, stored = list(dot.attr[1:]), k.store()
        sizes = {name: self.length(product([v.attr[1] for v in members]), name.upper())
                 for name, members in (("m", k.space.m), ("n", k.space.n), ("k", tuple(reduced)))}  # fmt: skip
        m, n, z = (var(f"#{x}", const(1 << 62)) for x in ("m", "n", "z"))
        index = self.type_of("i32")
        batch = [v for v in k.space.batch if not is_unit(v)]
        for flat, name, members in ((m, "m", k.space.m), (n, "n", k.space.n), (z, "z", tuple(batch))):
            self.bind(flat, name, {name} if name != "z" else set())
            self.bind_flat(
                flat, [v for v in members if not is_unit(v)], [body, stored], {name} if name != "z" else set()
            )
        self.masks = {"m": f"m < {sizes['m']}", "n": f"n < {sizes['n']}"}
        self.note("one tile of the product a block; both operands pass through shared memory")
        first, second = ("y", "x") if k.space.across else ("x", "y")
        if side == 1:
            self.line(f"__shared__ float a_tile[{TILE}][{TILE}], b_tile[{TILE}][{TILE}];")
            self.line(f"{index} m = {self.wide_cast(f'blockIdx.{first}')} * {TILE} + threadIdx.y;")
            self.line(f"{index} n = {self.wide_cast(f'blockIdx.{second}')} * {TILE} + threadIdx.x;")
        else:
            self.line(f"__shared__ float a_tile[{TILE}][{width + 1}], b_tile[{TILE}][{width + 1}];")
            self.line(f"int t = threadIdx.y * {TILE} + threadIdx.x;")
            self.line(f"{index} m0 = {self.wide_cast(f'blockIdx.{first}')} * {width};")
            self.line(f"{index} n0 = {self.wide_cast(f'blockIdx.{second}')} * {width};")
        if batch:
            self.line(f"{index} z = blockIdx.z;")
            self.setup.append(f"batches = {size_text(product([v.attr[1] for v in batch]))}")
        self.line("float acc = 0.0f;" if side == 1 else f"float acc[{side}][{side}] = {{}};")
        self.open_scope(body)
        if side > 1:  # m and n are known within the tile's loops only
            self.hoist = []
        self.prelude()
        self.loop_variables.add("#k")
        self.open_block(f"for (int s = 0; s < {sizes['k']}; s += {TILE})")
        for operand, name, lane, tile in ((dot.args[0], "ka", "x", "a_tile"), (dot.args[1], "kb", "y", "b_tile")):
            if side == 1:
                self.tile_load(operand, reduced, name, lane, tile, sizes["k"])
            else:
                self.wide_tile_load(operand, reduced, name, tile, sizes["k"], width)
        self.line("__syncthreads();")
        if side == 1:
            self.line(f"for (int t = 0; t < {TILE}; t++) acc += a_tile[threadIdx.y][t] * b_tile[t][threadIdx.x];")
        else:
            self.register_products(side)
        self.line("__syncthreads();")
        self.close_block()
        self.loop_variables.clear()
        self.masks = {}
        self.note("the rest is done while the sum is in a register")
        if side == 1:
            self.line(f"if (m >= {sizes['m']} || n >= {sizes['n']}) return;")
            self.scopes[-1].memo[dot] = "acc"
            self.store_line(body)
        else:
            self.register_epilogue(body, dot, sizes, side, index)
        tiles = [f"({sizes[x]} + {width - 1}) / {width}" for x in (("n", "m") if k.space.across else ("m", "n"))]
        grid = f"dim3({', '.join(tiles + (['batches'] if batch else []))})"
        return self.finish(grid, f"dim3({TILE}, {TILE})", ("tiling",))

    def register_products(self, side: int) -> None:
        """Each thread multiplies a column of one tile by a row of the other, both from registers."""
        self.open_block(f"for (int k = 0; k < {TILE}; k++)")
        self.line(f"float a_row[{side}], b_row[{side}];")
        self.line("#pragma unroll")
        self.line(f"for (int ti = 0; ti < {side}; ti++) a_row[ti] = a_tile[k][threadIdx.y + {TILE} * ti];")
        self.line("#pragma unroll")
        self.line(f"for (int tj = 0; tj < {side}; tj++) b_row[tj] = b_tile[k][threadIdx.x + {TILE} * tj];")
        self.line("#pragma unroll")
        self.line(f"for (int ti = 0; ti < {side}; ti++)")
        self.line("    #pragma unroll")
        self.line(f"    for (int tj = 0; tj < {side}; tj++) acc[ti][tj] += a_row[ti] * b_row[tj];")
        self.close_block()

    def register_epilogue(self, body: Expr, dot: Expr, sizes: dict[str, str], side: int, index: str) -> None:
        self.line("#pragma unroll")
        self.open_block(f"for (int ti = 0; ti < {side}; ti++)")
        self.line("#pragma unroll")
        self.open_block(f"for (int tj = 0; tj < {side}; tj++)")
        self.line(f"{index} m = m0 + threadIdx.y + {TILE} * ti, n = n0 + threadIdx.x + {TILE} * tj;")
        self.line(f"if (m >= {sizes['m']} || n >= {sizes['n']}) continue;")
        self.open_scope(body)
        self.scopes[-1].memo[dot] = "acc[ti][tj]"
        self.store_line(body)
        self.scopes.pop()
        self.close_block()
        self.close_block()

    def wide_tile_load(self, operand: Expr, reduced: list[Expr], name: str, tile: str, bound: str, width: int) -> None:
        """All threads fill a tile of inner x outer elements; neighbours in a warp read neighbours in memory."""
        side = "m" if name == "ka" else "n"
        k = self.kernel
        reads = [ld for ld in walk(operand) if ld.op == "load"]
        other = [v for v in (k.space.m if side == "m" else k.space.n) if not is_unit(v)]
        inner = [v for v in reduced if not is_unit(v)]
        along = bool(reads and inner) and stride(reads[0], inner[-1]) == 1
        along = along and not (other and stride(reads[0], other[-1]) == 1)
        k_at, o_at = (f"ti % {TILE}", f"ti / {TILE}") if along else (f"ti / {width}", f"ti % {width}")
        self.open_block(f"for (int ti = t; ti < {TILE * width}; ti += {TILE * TILE})")
        index = self.type_of("i32")
        self.line(f"{index} {name} = s + {k_at}, {side} = {side}0 + {o_at};")
        text = self.operand_text(operand, reduced, name, bound)
        self.line(f"{tile}[{k_at}][{o_at}] = {text};")
        self.close_block()

    def tile_load(self, operand: Expr, reduced: list[Expr], name: str, lane: str, tile: str, bound: str) -> None:
        self.line(f"int {name} = s + threadIdx.{lane};")
        text = self.operand_text(operand, reduced, name, bound)
        self.line(f"{tile}[threadIdx.y][threadIdx.x] = {text};")

    def operand_text(self, operand: Expr, reduced: list[Expr], name: str, bound: str) -> str:
        """An element of one side of the product at the inner index `name`, 0 outside."""
        flat = var("#k", const(1 << 62))
        self.bind(flat, name, {"k"})
        self.masks["k"] = f"{name} < {bound}"
        self.domains = [d for d in self.domains if d[1].attr[0] != "#k" and not set(d[0]) & set(reduced)]
        for v in reduced:
            self.roots.pop(v.attr[0], None)
        self.bind_flat(flat, [v for v in reduced if not is_unit(v)], [operand], {"k"})
        self.open_scope(operand)
        text = self.text(substitute(operand, {v.attr[0]: const(0) for v in reduced if is_unit(v)}))
        self.scopes.pop()
        return text

    # -------------------------------------------------------------- text

    def finish(self, grid: str, block: str, principles: tuple[str, ...]) -> Printed:
        k = self.kernel
        order = {"pointer": 0, "size": 1, "scalar": 2}
        args = sorted(self.arguments.values(), key=lambda a: (order[a.kind], a.buffer is k.out))
        text = (
            f"__global__ void {k.name}({', '.join(self.parameter(a) for a in args)}) {{\n"
            + "\n".join(self.lines)
            + "\n}\n"
        )
        extra = [
            name for name in ("rows", "chunks", "batches") if name in grid and ("length", name) not in self.arguments
        ]
        setup = [
            line
            for line in self.setup
            if not line.startswith(("rows ", "chunks ", "batches ")) or line.split(" =")[0] in grid + text
        ]
        launcher = Launcher(f"{k.name.removesuffix('_kernel')}_cuda", k.name, args, tuple(extra), grid, block)
        launch = f"ops.{launcher.name}({', '.join([a.host for a in args] + extra)})"
        return Printed(k.name, text, launch, tuple(self.helpers), principles, tuple(setup), launcher)

    def parameter(self, a: Argument) -> str:
        if a.kind == "pointer":
            written = {self.kernel.out.text, *(where.attr.text for where, _ in self.kernel.state)}
            mark = "" if a.buffer is not None and a.buffer.text in written else "const "
            return f"{mark}{TYPES[a.dtype]}* {a.name}"
        return f"{'float' if a.kind == 'scalar' else self.type_of('i32')} {a.name}"


class Launcher:
    """The C++ function that the module binds: tensors and sizes in, one launch."""

    def __init__(self, name: str, kernel: str, args: list[Argument], extra: tuple[str, ...], grid: str, block: str):
        self.name, self.kernel, self.args, self.extra, self.grid, self.block = name, kernel, args, extra, grid, block
        self.sizes = {a.name for a in args if a.kind != "pointer"}

    def tensor(self, a: Argument) -> str:
        """The C++ name of an argument: a tensor drops `_ptr` unless a size has that name."""
        short = a.name.removesuffix("_ptr")
        return short if a.kind == "pointer" and short not in self.sizes else a.name

    def declaration(self) -> str:
        kinds = {"pointer": "torch::Tensor", "size": "int64_t", "scalar": "double"}
        parts = [f"{kinds[a.kind]} {self.tensor(a)}" for a in self.args] + [f"int64_t {x}" for x in self.extra]
        return f"void {self.name}({', '.join(parts)})"

    def definition(self) -> str:
        values = [
            f"{self.tensor(a)}.data_ptr<{TYPES[a.dtype]}>()" if a.kind == "pointer" else a.name for a in self.args
        ]
        return f"{self.declaration()} {{\n    {self.kernel}<<<{self.grid}, {self.block}>>>({', '.join(values)});\n}}\n"


def print_cuda(kernel: Kernel, plain: bool = True, taken: frozenset[str] = frozenset()) -> Printed:
    """The kernel's text, its launcher and the host line that calls it."""
    dry = CudaPrinter(kernel, plain)
    dry.taken = taken
    printed = getattr(dry, f"{kernel.kind}_kernel")()
    if not dry.invariant:
        return printed
    printer = CudaPrinter(kernel, plain)
    printer.taken = taken
    printer.hoist = dry.invariant
    return getattr(printer, f"{kernel.kind}_kernel")()


IMPORTS = "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
NVRTC_IMPORTS = "import torch\nimport torch.nn as nn\n"


def cuda_module(source: str, plan: Plan, kernels: list[Kernel]) -> tuple[str, list[Printed]]:
    """The candidate's text in the form that the schedule names: load_inline (default) or nvrtc."""
    plain = plan.schedule.get("style", "plain") == "plain"
    printed = [print_cuda(k, plain, frozenset(plan.graph.signature)) for k in kernels]
    if plan.schedule.get("form") == "nvrtc":
        return nvrtc_module(source, plan, printed)
    helpers = dict.fromkeys(h for p in printed for h in p.helpers)
    device = "\n".join([*helpers, *(t for p in printed for t in (p.text, p.launcher.definition()))])
    names = [p.launcher.name for p in printed]
    preamble = (
        f'cuda_source = """\n#include <torch/extension.h>\n#include <cuda_runtime.h>\n\n{device}"""\n\n'
        f'cpp_source = """\n' + "".join(f"{p.launcher.declaration()};\n" for p in printed) + '"""\n\n'
        f'ops = load_inline(name="{names[-1]}", cpp_sources=cpp_source, cuda_sources=cuda_source, '
        f"functions={_list(names)})\n"
    )
    bare = [Printed(p.name, p.text, p.launch, (), p.principles, p.setup) for p in printed]
    return assemble(source, plan, bare, IMPORTS, preamble), printed


def _list(names: list[str]) -> str:
    return "[" + ", ".join(f'"{n}"' for n in names) + "]"


def nvrtc_module(source: str, plan: Plan, printed: list[Printed]) -> tuple[str, list[Printed]]:
    """Kernels compiled at run time by NVRTC; grid and block are given from Python."""
    parts, bare = [], []
    for p in printed:
        code = "\n".join(
            [*(_INFINITY if "INFINITY" in p.text + "".join(p.helpers) else ()), *p.helpers, 'extern "C" ' + p.text]
        ).replace("int64_t", "long long")
        variable = p.name.replace("_kernel", "_source")
        parts.append(f'{variable} = """\n{code}"""\n{p.name} = torch.cuda._compile_kernel({variable}, "{p.name}")\n')
        grid, block = (_python_dim(_hosted(text, p.launcher)) for text in (p.launcher.grid, p.launcher.block))
        args = ", ".join(a.host for a in p.launcher.args)
        bare.append(Printed(p.name, p.text, f"{p.name}({grid}, {block}, ({args},))", (), p.principles, p.setup))
    return assemble(source, plan, bare, NVRTC_IMPORTS, "\n".join(parts)), printed


_INFINITY = ("#define INFINITY __int_as_float(0x7f800000)",)  # NVRTC has no math.h


def _hosted(text: str, launcher: Launcher) -> str:
    """Sizes by the names that the host gave them."""
    for a in launcher.args:
        if a.kind == "size" and a.host.isidentifier():
            text = re.sub(rf"\b{a.name}\b", a.host, text)
    return text


def _python_dim(text: str) -> str:
    """`dim3((M + 15) / 16, ...)` or `(n + 255) / 256` as a Python triple."""
    inner = text.removeprefix("dim3(").removesuffix(")") if text.startswith("dim3(") else text
    parts = [p.strip().replace(" / ", " // ") for p in inner.split(",")]
    return f"({', '.join(parts + ['1'] * (3 - len(parts)))})"


__all__ = ["cuda_module", "print_cuda"]
_ = Any
