"""From a graph to kernels: which operators share a kernel, which tensors are written to memory, in what order.

An anchor (product, convolution, reduction, norm, pool, scan) takes the pointwise operators after it into its own
kernel as long as nothing else needs the values in between; pointwise and layout operators before a kernel are composed
into its loads. Everything else goes through memory. Source: issue 6, DESIGN section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kzlib.teacher.expr import (
    TRUE,
    Buffer,
    Expr,
    as_expr,
    both,
    const,
    dim,
    is_const,
    load,
    named,
    numel,
    reduce,
    rewrite,
    scalar,
    value_of,
    var,
    variables,
    walk,
    where,
)
from kzlib.teacher.graph import Graph, Info, Node, Ref, Scalar, Unsupported
from kzlib.teacher.host import size_text
from kzlib.teacher.kernel import Kernel, Space
from kzlib.teacher.large import deepened, spread
from kzlib.teacher.ops import DROPOUT, POINTWISE

DTYPES = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "bool": "bool",
    "float64": "f64",
    "uint8": "u8",
    "int16": "i16",
    "int8": "i8",
}
SIZE_HINTS = {1: ("N",), 2: ("B", "C"), 3: ("B", "T", "C"), 4: ("B", "C", "H", "W"), 5: ("B", "C", "D", "H", "W")}
INDEX_NAMES = {1: ("i",), 2: ("b", "c"), 3: ("b", "t", "c"), 4: ("b", "c", "h", "w"), 5: ("b", "c", "d", "h", "w")}
Shape = tuple[Expr, ...]


@dataclass(eq=False)
class Lazy:
    """A tensor not yet written: `at(index)` is its element. `kind` map composes anywhere; anchors do not."""

    shape: Shape
    dtype: str
    at: Callable[[Shape], Expr]
    kind: str = "map"  # map | buffer | loop | reduce | row | dot | scan
    space: Space | None = None
    buffer: Buffer | None = None
    layout: bool = False  # only moves elements of buffers: a load and nothing else
    ops: tuple[str, ...] = ()
    region: frozenset[int] = frozenset()
    state: tuple[tuple[Expr, Expr], ...] = ()  # running statistics that the kernel brings up to date
    memo: dict[Shape, Expr] = field(default_factory=dict)

    def value(self, index: Shape) -> Expr:
        if index not in self.memo:
            self.memo[index] = self.at(index)
        return self.memo[index]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(value_of(s) for s in self.shape)

    @property
    def anchored(self) -> bool:
        return self.kind not in ("map", "buffer")


@dataclass(frozen=True)
class Step:
    """One host step: allocate `kernel.out`, then launch it."""

    kernel: Kernel
    like: str  # a tensor whose shape and type the output shares, or ""


class Plan:
    """The kernels of one graph under one schedule."""

    def __init__(self, graph: Graph, schedule: dict[str, Any], families: dict[str, Callable[[Plan, Node], Any]]):
        self.graph, self.schedule, self.families = graph, schedule, families
        self.values: dict[int, Lazy] = {}
        self.steps: list[Step] = []
        self.buffers: list[Buffer] = []
        self.fuse = bool(schedule.get("fuse", True))
        self.used_names: set[str] = set(graph.signature)
        self.counter = 0
        self.live = _live(graph)
        self.consumers = _consumers(graph, self.live)
        self.outputs = {r.id for r in _refs(graph.output)}
        self.stops: dict[int, int] = {}  # first value of a region -> the value that is written
        self.alloc_shapes: dict[str, Shape] = {}
        self.host_lines: list[str] = []  # before the return: counters that the module keeps on the host's side
        self.true_shapes: dict[str, Shape] = {}  # of tensors as the host sees them; reshaped views share their text
        for number, text in {**graph.inputs, **graph.params}.items():
            self.values[number] = self.source(number, text)

    # -------------------------------------------------------------- values

    def source(self, number: int, text: str) -> Lazy:
        info = self.graph.infos[number]
        if info.dtype not in DTYPES or DTYPES[info.dtype] in ("f64", "u8", "i16", "i8"):
            raise Unsupported(f"tensors of type {info.dtype}")
        hints = SIZE_HINTS.get(len(info.shape), tuple(f"D{i}" for i in range(len(info.shape))))
        shape = tuple(
            const(1) if size == 1 else dim(f"{text}.shape[{i}]", size, hints[i]) for i, size in enumerate(info.shape)
        )
        self.true_shapes[text] = shape
        return self.of_buffer(Buffer(text, shape, DTYPES[info.dtype], _hint(text)))

    def of_buffer(self, buffer: Buffer) -> Lazy:
        if buffer not in self.buffers:
            self.buffers.append(buffer)
        return Lazy(buffer.shape, buffer.dtype, lambda c: load(buffer, c), "buffer", buffer=buffer, layout=True)

    def get(self, arg: Any) -> Lazy:
        if not isinstance(arg, Ref):
            raise Unsupported(f"a tensor was expected, not {arg!r}")
        return self.values[arg.id]

    def map(self, arg: Any) -> Lazy:
        """A tensor that can be composed at any index."""
        lazy = self.get(arg)
        return self.settle(arg) if lazy.anchored else lazy

    def layout(self, arg: Any) -> Lazy:
        """A tensor whose elements are plain loads."""
        lazy = self.get(arg)
        return lazy if lazy.layout else self.settle(arg)

    def settle(self, arg: Any) -> Lazy:
        """The tensor in memory: written now if it has not been."""
        lazy = self.get(arg)
        if lazy.kind != "buffer":
            lazy = self.values[arg.id] = self.write(lazy, self.graph.infos[arg.id])
        return lazy

    def scalar(self, value: Any) -> Any:
        """A number as the expressions want it: held floats become kernel arguments."""
        if isinstance(value, Scalar):
            return scalar(value.text, value.value, _hint(value.text))
        return value

    def info(self, node: Node, k: int = 0) -> Info:
        return self.graph.infos[node.outs[k]]

    def name(self, base: str) -> str:
        name, k = base, 2
        while name in self.used_names:
            name, k = f"{base}{k}", k + 1
        self.used_names.add(name)
        return name

    def index_var(self, name: str, extent: Expr) -> Expr:
        """A fresh index variable; printers show `name`, the tag keeps variables of different loops apart."""
        return var(name, extent)

    # -------------------------------------------------------------- writing

    def write(self, lazy: Lazy, info: Info | None = None) -> Lazy:
        dtype = DTYPES[info.dtype] if info is not None else lazy.dtype
        if dtype not in ("f32", "f16", "bf16", "i64", "i32", "bool"):
            raise Unsupported(f"an output of type {dtype}")
        space = lazy.space
        kind = {"loop": "map", "buffer": "map"}.get(lazy.kind, lazy.kind)
        if space is None:
            coords = index_variables(lazy.shape)
            space = Space(outer=coords, coords=tuple(_zero_unit(c) for c in coords))
        kind, body, space = flattened(kind, inside(lazy.value(space.coords), space), space)
        kind, body, space, state = spread(self, kind, body, space, lazy.state)
        kind, body, space = flattened(*deepened(self, kind, body, space))
        host = self.name("h")
        same = (b.text for b in self.buffers if b.shape == lazy.shape and b.dtype == dtype and b.text.isidentifier())
        like = next((text for text in same if self.true_shapes.get(text) == lazy.shape), "")
        return self.launch(host, kind, body, space, lazy.shape, dtype, state, like, lazy.ops)

    def emit(
        self, kind: str, body: Expr, space: Space, name: str, state: tuple[tuple[Expr, Expr], ...] = (),
        schedule: dict[str, Any] | None = None,
    ) -> Lazy:  # fmt: skip
        """A kernel whose result only other kernels read: its shape is that of its index variables."""
        shape = tuple(v.attr[1] for v in space.coords)
        return self.launch(self.name(name), kind, body, space, shape, body.dtype, state, "", (name,), schedule)

    def launch(
        self, host: str, kind: str, body: Expr, space: Space, alloc: Shape, dtype: str,
        state: tuple[tuple[Expr, Expr], ...], like: str, ops: tuple[str, ...], schedule: dict[str, Any] | None = None,
    ) -> Lazy:  # fmt: skip
        """The step that allocates `host` and fills it."""
        shape = tuple(
            s
            if s.op in ("const", "dim")
            else const(1)
            if value_of(s) == 1
            else dim(f"{host}.shape[{i}]", value_of(s), _size_hint(i, len(alloc)))
            for i, s in enumerate(alloc)
        )
        out = Buffer(host, shape, dtype, "h")
        table = {old: new for old, new in zip(alloc, shape, strict=True) if old is not new}
        if table:
            body, space = localise(body, space, table)
        name = self.kernel_name(ops[-4:] if ops else ("copy",))
        kernel = Kernel(name, kind, out, space, body, {**self.schedule, **(schedule or {})}, state)
        self.steps.append(Step(kernel, like))
        self.alloc_shapes[host] = alloc
        self.true_shapes[host] = shape
        return self.of_buffer(out)

    def kernel_name(self, ops: tuple[str, ...]) -> str:
        if self.schedule.get("style", "plain") == "plain":
            return self.name("kernel")
        return self.name("_".join(dict.fromkeys(o.strip("_") for o in ops)) + "_kernel")

    # -------------------------------------------------------------- lowering

    def run(self) -> Plan:
        for position, node in enumerate(self.graph.nodes):
            if position in self.live:
                self.lower(position, node)
        for ref in _refs(self.graph.output):
            self.settle(ref)
        if not self.steps:
            raise Unsupported("the module computes nothing: its output is an input or a weight")
        return self

    def lower(self, position: int, node: Node) -> None:
        if node.op in DROPOUT:
            result: Any = self.dropout(node)
        elif node.op in POINTWISE:
            result = self.pointwise(position, node)
        elif node.op in self.families:
            result = self.families[node.op](self, node)
        else:
            raise Unsupported(f"operator {node.op}")
        results = result if isinstance(result, tuple) else (result,)
        for k, number in enumerate(node.outs):
            lazy = results[k]
            lazy.shape = tuple(const(1) if value_of(s) == 1 else s for s in lazy.shape)
            info = self.graph.infos[number]
            if lazy.sizes != info.shape:
                raise Unsupported(f"operator {node.op}: shape {lazy.sizes} where Torch has {info.shape}")
            if lazy.kind != "buffer" and not lazy.layout and lazy.ops[-1:] != (node.op,):
                lazy.ops = (*lazy.ops, node.op)
            self.values[number] = lazy
            if number not in self.consumers and number not in self.outputs:
                continue
            if lazy.anchored and not lazy.region:
                lazy.region, stop = self.region(position, number)
            elif lazy.anchored:
                stop = self.stops[min(lazy.region)]
            if (lazy.anchored and stop == number) or (not self.fuse and lazy.kind != "buffer" and not lazy.layout):
                self.settle(Ref(number))

    def region(self, position: int, number: int) -> tuple[frozenset[int], int]:
        """Values that can stay in registers after the anchor `number`, and the last of them, which is written."""
        inside, best, best_inside = {number}, number, {number}
        shape = self.graph.infos[number].shape
        added = {position}
        for k in range(position + 1, len(self.graph.nodes)):
            node = self.graph.nodes[k]
            if k not in self.live or not (inside & {r.id for r in _refs((node.args, tuple(node.kwargs.values())))}):
                continue
            if not self.fuse or node.op not in POINTWISE or len(node.outs) != 1 or self.info(node).shape != shape:
                continue
            inside.add(node.outs[0])
            added.add(k)
            still = {v for v in inside if v in self.outputs or any(c not in added for c in self.consumers.get(v, ()))}
            if still == {node.outs[0]} or (not still):
                best, best_inside = node.outs[0], set(inside)
        self.stops[min(best_inside)] = best
        return frozenset(best_inside), best

    def pointwise(self, position: int, node: Node) -> Lazy:
        info = self.info(node)
        kept: Lazy | None = None
        refs = _refs((node.args, tuple(node.kwargs.values())))
        for ref in refs:
            lazy = self.get(ref)
            if not lazy.anchored:
                continue
            ours = node.outs[0] in lazy.region and lazy.sizes == info.shape
            if ours and (kept is None or kept.region == lazy.region):
                kept = lazy
            else:
                self.settle(ref)
        operands = [self.get(r) for r in refs]
        shape = broadcast_shape([o for o in operands if o is not kept], info.shape, kept)
        function = POINTWISE[node.op]

        def at(index: Shape) -> Expr:
            def operand(arg: Any) -> Any:
                if isinstance(arg, Ref):
                    lazy = self.frozen(operands, refs, arg)
                    return lazy.value(align(lazy, index))
                return self.scalar(arg)

            args = [operand(a) for a in node.args]
            kwargs = {k: operand(v) for k, v in node.kwargs.items() if k not in ("memory_format", "out")}
            if node.op in ("div", "mul", "sub", "add", "pow") and not any(isinstance(a, Expr) for a in args[:1]):
                args[0] = as_expr(float(args[0])) if node.op != "pow" else args[0]
            result = function(*args, **kwargs)
            return named(as_expr(result), node.op.strip("_"))

        ops = tuple(dict.fromkeys(o for lazy in operands for o in lazy.ops))
        dtype = DTYPES.get(info.dtype, info.dtype)
        if kept is not None:
            return Lazy(shape, dtype, at, kept.kind, kept.space, ops=ops, region=kept.region, state=kept.state)
        return Lazy(shape, dtype, at, ops=ops)

    @staticmethod
    def frozen(operands: list[Lazy], refs: list[Ref], arg: Ref) -> Lazy:
        return operands[refs.index(arg)]

    def dropout(self, node: Node) -> Lazy:
        p = node.kwargs.get("p", node.args[1] if len(node.args) > 1 else 0.5)
        training = node.kwargs.get("training", node.args[2] if len(node.args) > 2 else True)
        if training and float(p if not isinstance(p, Scalar) else p.value) > 0:
            raise Unsupported("dropout in training mode")
        return self.get(node.args[0])


def inside(body: Expr, space: Space) -> Expr:
    """What follows a product reads only where the output's coordinates lie inside."""
    moving = {n for c in space.coords if c.op not in ("var", "const") for n in variables(c)}
    if space.guard == TRUE:
        return body

    def change(x: Expr) -> Expr | None:
        if x.op == "dot":
            return x
        if x.op == "load" and moving & variables(x):
            return Expr("load", (*x.args[:-1], both(space.guard, x.args[-1])), x.attr, x.dtype)
        return None

    return rewrite(body, change)


def flattened(kind: str, body: Expr, space: Space) -> tuple[str, Expr, Space]:
    """Rows of one element, and reductions over nothing, are plain maps."""
    if kind == "scan" and all(value_of(v.attr[1]) == 1 for v in space.row):
        body = rewrite(body, lambda e: e.args[0] if e.op == "scan" else None)
        kind = "map"
    if kind == "dot":
        dot = next(e for e in walk(body) if e.op == "dot")
        if all(value_of(v.attr[1]) == 1 for v in dot.attr[1:]):
            return "map", rewrite(body, lambda e: e.args[0] * e.args[1] if e.op == "dot" else None), space
        if 1 in (numel(tuple(v.attr[1] for v in side)) for side in (space.m, space.n)):
            # one row or one column: a tile would be empty
            body = rewrite(body, lambda e: reduce("add", e.attr[1:], e.args[0] * e.args[1]) if e.op == "dot" else None)
            plain = Space(
                space.outer, coords=space.coords, store_shape=space.store_shape, store_index=space.store_index
            )
            return ("map" if len(dot.attr) > 2 else "reduce"), body, plain
    if kind in ("row", "reduce") and not any(e.op == "reduce" for e in walk(body)):
        kind = "map"
    if kind == "map" and space.row:
        index = space.store_index or space.coords
        order = sorted((v for v in (*space.outer, *space.row) if v in index), key=index.index)
        space = Space(tuple(order), coords=space.coords, store_shape=space.store_shape, store_index=space.store_index)
    return kind, body, space


def localise(body: Expr, space: Space, table: dict[Expr, Expr]) -> tuple[Expr, Space]:
    """Say computed sizes by the output tensor's own shape, wherever they occur."""

    def size(e: Expr) -> Expr:
        return rewrite(e, table.get)

    def change(e: Expr) -> Expr | None:
        if e in table:
            return table[e]
        if e.op == "var":
            extent = size(e.attr[1])
            return e if extent is e.attr[1] else var(e.attr[0], extent)
        return None

    def many(items: Shape) -> Shape:
        return tuple(rewrite(e, change) for e in items)

    new = Space(many(space.outer), many(space.row), many(space.batch), many(space.m), many(space.n), space.across,
                many(space.coords), tuple(size(s) for s in space.store_shape), many(space.store_index),
                rewrite(space.guard, change))  # fmt: skip
    return rewrite(body, change), new


def index_variables(shape: Shape, names: tuple[str, ...] = ()) -> Shape:
    names = names or INDEX_NAMES.get(len(shape), tuple(f"d{i}" for i in range(len(shape))))
    return tuple(var(n, s) for n, s in zip(names, shape, strict=True))


def _zero_unit(v: Expr) -> Expr:
    return const(0) if value_of(v.attr[1]) == 1 else v


def broadcast_shape(operands: list[Lazy], sizes: tuple[int, ...], kept: Lazy | None) -> Shape:
    """Symbolic sizes of a broadcast: each from the first operand that has the full size."""
    out = []
    for j, size in enumerate(sizes):
        found = None
        for lazy in ([kept] if kept else []) + operands:
            k = j - (len(sizes) - len(lazy.shape))
            if k >= 0 and value_of(lazy.shape[k]) == size:
                found = lazy.shape[k]
                break
        out.append(const(size) if found is None else found)
    return tuple(out)


def align(lazy: Lazy, index: Shape) -> Shape:
    """The operand's own index under broadcasting."""
    extra = len(index) - len(lazy.shape)
    return tuple(const(0) if value_of(s) == 1 else index[extra + k] for k, s in enumerate(lazy.shape))


def guarded(lazy: Lazy, index: Shape, guard: Expr, other: float = 0.0) -> Expr:
    """The element where `guard` holds, `other` elsewhere; nothing is read outside."""
    if guard == TRUE:
        return lazy.value(index)
    inner = lazy.value(index)

    def change(e: Expr) -> Expr | None:
        if e.op == "load":  # and the loads that its place is read by
            *index, own = (rewrite(a, change) for a in e.args)
            return Expr("load", (*index, both(guard, own)), e.attr, e.dtype)
        return None

    out = rewrite(inner, change)
    if out.op == "load" and is_const(inner.args[-1], True) and other == 0.0:
        return out
    return where(guard, out, {"i32": int, "i64": int, "bool": bool}.get(out.dtype, float)(other))


def _hint(text: str) -> str:
    last = text.split(".")[-1].split("[")[0]
    return {"weight": "w", "bias": "b", "self": "p"}.get(last, last)


def _size_hint(i: int, rank: int) -> str:
    hint = SIZE_HINTS.get(rank, tuple(f"D{k}" for k in range(rank)))[i]
    return f"O{hint}"


def _refs(value: Any) -> list[Ref]:
    if isinstance(value, Ref):
        return [value]
    if isinstance(value, (tuple, list)):
        return [r for v in value for r in _refs(v)]
    if isinstance(value, dict):
        return [r for v in value.values() for r in _refs(v)]
    return []


def _live(graph: Graph) -> set[int]:
    """Positions of the calls that the output depends on."""
    maker = {o: k for k, n in enumerate(graph.nodes) for o in n.outs}
    live: set[int] = set()
    stack = [r.id for r in _refs(graph.output)]
    while stack:
        number = stack.pop()
        k = maker.get(number)
        if k is None or k in live:
            continue
        live.add(k)
        stack += [r.id for r in _refs((graph.nodes[k].args, tuple(graph.nodes[k].kwargs.values())))]
    return live


def _consumers(graph: Graph, live: set[int]) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for k in sorted(live):
        for r in _refs((graph.nodes[k].args, tuple(graph.nodes[k].kwargs.values()))):
            out.setdefault(r.id, []).append(k)
    return out


__all__ = ["Lazy", "Plan", "Step", "align", "guarded", "index_variables", "numel", "size_text"]
