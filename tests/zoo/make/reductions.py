# ruff: noqa: E501 - tables, one row a case
"""Reductions: op x dim x way of walking (whole row, loop, columns, two stages, atomics), long rows, and scans."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

# name: (torch expression for the last dim, neutral element, start of the loop, combine a with row values v, finish a)
ROW_OPS = {
    "sum": ("x.sum(-1)", "0.0", "tl.sum(v, 0)", "a + p", "a"),
    "mean": ("x.mean(-1)", "0.0", "tl.sum(v, 0)", "a + p", "a / cols"),
    "amax": ("x.amax(-1)", "float('-inf')", "tl.max(v, 0)", "tl.maximum(a, p)", "a"),
    "amin": ("x.amin(-1)", "float('inf')", "tl.min(v, 0)", "tl.minimum(a, p)", "a"),
    "sumsq": ("x.square().sum(-1)", "0.0", "tl.sum(v * v, 0)", "a + p", "a"),
    "norm2": ("torch.linalg.vector_norm(x, dim=-1)", "0.0", "tl.sum(v * v, 0)", "a + p", "tl.sqrt(a)"),
    "norm1": ("x.abs().sum(-1)", "0.0", "tl.sum(tl.abs(v), 0)", "a + p", "a"),
    "norminf": ("x.abs().amax(-1)", "0.0", "tl.max(tl.abs(v), 0)", "tl.maximum(a, p)", "a"),
    "rms": ("x.square().mean(-1).sqrt()", "0.0", "tl.sum(v * v, 0)", "a + p", "tl.sqrt(a / cols)"),
    "sumexp": ("x.exp().sum(-1)", "float('-inf')", "tl.sum(tl.exp(v), 0)", "a + p", "a"),
}
START = {"amax": "float('-inf')", "amin": "float('inf')"}

ONE_BLOCK = """
@triton.jit
def reduce_row(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=@NEUTRAL@).to(tl.float32)
    a = @PART@
    tl.store(y_ptr + row, @FINISH@)


class ModelNew(nn.Module):
    def forward(self, x):
        cols = x.shape[-1]
        x2 = x.contiguous().view(-1, cols)
        y = torch.empty(x2.shape[0], dtype=x.dtype, device=x.device)
        reduce_row[(x2.shape[0],)](x2, y, cols, BLOCK=triton.next_power_of_2(cols))
        return y.view(x.shape[:-1])
"""
LOOPED = """
@triton.jit
def reduce_row(x_ptr, y_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    a = tl.full((), @START@, tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * stride + c, mask=c < cols, other=@NEUTRAL@).to(tl.float32)
        p = @PART@
        a = @COMBINE@
    tl.store(y_ptr + row, @FINISH@)


class ModelNew(nn.Module):
    BLOCK = 64

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1]).contiguous()
        out = x.new_empty((rows.shape[0],))
        reduce_row[(rows.shape[0],)](rows, out, rows.stride(0), rows.shape[1], BLOCK=self.BLOCK)
        return out.reshape(x.shape[:-1])
"""
MANY_ROWS = """
@triton.jit
def reduce_tile(x_ptr, y_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    w = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=inside, other=@NEUTRAL@).to(tl.float32)
    v = tl.trans(w)  # rows along axis 1, so the helper reduces axis 0
    a = @PART@
    tl.store(y_ptr + r, @FINISH@, mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.numel() // x.shape[-1]
        y = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
        reduce_tile[(triton.cdiv(rows, 4),)](x.contiguous(), y, rows, x.shape[-1], R=4, C=triton.next_power_of_2(x.shape[-1]))
        return y
"""
ROW_STYLES = {"block": ONE_BLOCK, "loop": LOOPED, "tile": MANY_ROWS}

FULL_SUM_TWO_STAGE = """
@triton.jit
def partial_sums(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(part_ptr + tl.program_id(0), tl.sum(@TERM@, 0))


@triton.jit
def last_sum(part_ptr, y_ptr, parts, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(part_ptr + i, mask=i < parts, other=0.0), 0)
    tl.store(y_ptr, @FINISH@)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        parts = triton.cdiv(n, 512)
        part = torch.empty(parts, dtype=torch.float32, device=x.device)
        y = torch.empty((), dtype=x.dtype, device=x.device)
        partial_sums[(parts,)](x.contiguous(), part, n, BLOCK=512)
        last_sum[(1,)](part, y, parts, n, BLOCK=triton.next_power_of_2(parts))
        return y
"""
FULL_SUM_ATOMIC = """
@triton.jit
def add_up(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    part = tl.sum(@TERM@, 0)
    # the order of the additions is not fixed, so the last bits may differ from run to run
    tl.atomic_add(total_ptr, part)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        total = torch.zeros((), dtype=torch.float32, device=x.device)
        add_up[(triton.cdiv(n, 256),)](x.contiguous(), total, n, BLOCK=256)
        return (@FINISH@).to(x.dtype)
"""
FULL_SUM_SINGLE = """
@triton.jit
def sum_all(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        acc += @TERM@
    total = tl.sum(acc, 0)
    tl.store(y_ptr, @FINISH@)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(1, dtype=x.dtype, device=x.device)
        sum_all[(1,)](x.contiguous(), y, x.numel(), BLOCK=1024)
        return y[0]
"""
# name: (torch expression, term, finish inside a kernel, finish in Torch, inputs, ids)
FULL_OPS = {
    "sum": ("x.sum()", "v", "total", "total", "torch.randn(37, 29)", "R1, R12"),
    "mean": ("x.mean()", "v", "total / n", "total / n", "torch.randn(4, 10, 25) + 1.0", "R1, R12"),
    "frobenius": ("torch.norm(x)", "v * v", "tl.sqrt(total)", "total.sqrt()", "torch.randn(40, 41)", "R1, R12"),
    "mean_square": ("x.pow(2).mean()", "v * v", "total / n", "total / n", "torch.randn(3000)", "R1, R12"),
    "long_sum": ("x.sum()", "v", "total", "total", "torch.rand(60_000)", "R1, R12"),
    "long_half": ("x.float().sum().half()", "v", "total", "total", "torch.randn(20_000).half()", "R1, R3, R12"),
    "abs_mean": ("x.abs().mean()", "tl.abs(v)", "total / n", "total / n", "torch.randn(5, 7, 11)", "R1, R12"),
}
FULL_STYLES = {"stages": FULL_SUM_TWO_STAGE, "atomic": FULL_SUM_ATOMIC, "single": FULL_SUM_SINGLE}

COLUMNS = """
@triton.jit
def down(x_ptr, y_ptr, outer, mid, inner, BLOCK: tl.constexpr):
    # reduces the middle axis of (outer, mid, inner): neighbours in memory stay neighbours in the block
    o = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK,), @START@, tl.float32)
    for m in range(mid):
        v = tl.load(x_ptr + (o * mid + m) * inner + i, mask=i < inner, other=@NEUTRAL@).to(tl.float32)
        acc = @COMBINE@
    tl.store(y_ptr + o * inner + i, @FINISH@, mask=i < inner)


class ModelNew(nn.Module):
    def forward(self, x):
        dim = @DIM@
        before, after = x.shape[:dim], x.shape[dim + 1 :]
        outer, inner = before.numel(), after.numel()
        y = torch.empty(@OUT@, dtype=x.dtype, device=x.device)
        down[(outer, triton.cdiv(inner, 32))](x.contiguous(), y, outer, x.shape[dim], inner, BLOCK=32)
        return y
"""
# name: (torch expression, dim, keepdim, neutral, start, combine, finish, inputs)
COLUMN_OPS = {
    "sum_dim0": ("x.sum(0)", 0, False, "0.0", "0.0", "acc + v", "acc", "torch.randn(50, 37)"),
    "mean_dim1": ("x.mean(1)", 1, False, "0.0", "0.0", "acc + v", "acc / mid", "torch.randn(3, 24, 18)"),
    "max_dim1_keep": ("x.amax(1, keepdim=True)", 1, True, "float('-inf')", "float('-inf')", "tl.maximum(acc, v)", "acc", "torch.randn(4, 15, 33)"),
    "min_dim0": ("x.amin(0)", 0, False, "float('inf')", "float('inf')", "tl.minimum(acc, v)", "acc", "torch.randn(31, 5, 7)"),
    "prod_dim1": ("x.prod(1)", 1, False, "1.0", "1.0", "acc * v", "acc", "torch.rand(6, 9, 20) + 0.5"),
    "sumsq_dim0_keep": ("x.square().sum(0, keepdim=True)", 0, True, "0.0", "0.0", "acc + v * v", "acc", "torch.randn(29, 65)"),
    "half_sum_dim1": ("x.sum(1)", 1, False, "0.0", "0.0", "acc + v", "acc", "torch.randn(2, 40, 21).half()"),
}  # fmt: skip

INDEX = """
@triton.jit
def arg_row(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=@NEUTRAL@)
    tl.store(y_ptr + row, @FIND@(v, axis=0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty(x.shape[:-1], dtype=torch.int64, device=x.device)
        arg_row[(y.numel(),)](x, y, x.shape[-1], BLOCK=triton.next_power_of_2(x.shape[-1]))
        return y
"""
INDEX_LOOP = """
@triton.jit
def arg_row(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.full((), @NEUTRAL@, tl.float32)
    where = tl.full((), 0, tl.int64)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=@NEUTRAL@)
        here = @REDUCE@(v, axis=0)
        at = s + @FIND@(v, axis=0)
        better = @COMPARE@
        where = tl.where(better, at.to(tl.int64), where)
        best = tl.where(better, here, best)
    tl.store(y_ptr + row, where)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=torch.long, device=x.device)
        arg_row[(x.shape[0],)](x.contiguous(), out, x.shape[1], BLOCK=32)
        return out
"""
LOGICAL = """
@triton.jit
def logical(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=@NEUTRAL@)
    hit = (@TEST@).to(tl.int32)
    tl.store(y_ptr + row, @FINISH@)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], dtype=@DTYPE@, device=x.device)
        logical[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
"""
SCAN = """
@triton.jit
def _combine(a, b):
    return @OP@


@triton.jit
def scan_rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=@NEUTRAL@)
    r = tl.associative_scan(v, 0, _combine, reverse=@REVERSE@)
    tl.store(y_ptr + row * cols + c, r, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scan_rows[(x.shape[0],)](x.contiguous(), y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
"""
SCAN_CARRY = """
@triton.jit
def scan_chunks(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = tl.zeros((), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
        r = tl.cumsum(v, 0) + carry
        tl.store(y_ptr + row * cols + c, @STORE@, mask=c < cols)
        carry += tl.sum(v, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scan_chunks[(x.shape[0],)](x.contiguous(), y, x.shape[1], BLOCK=32)
        return y
"""
SCANS = [
    ("cumsum", "torch.cumsum(x, 1)", SCAN, {"OP": "a + b", "NEUTRAL": "0.0", "REVERSE": "False"}, "torch.randn(6, 45)"),
    ("cumprod", "torch.cumprod(x, 1)", SCAN, {"OP": "a * b", "NEUTRAL": "1.0", "REVERSE": "False"}, "torch.rand(4, 30) + 0.5"),
    ("cummax", "torch.cummax(x, 1).values", SCAN, {"OP": "tl.maximum(a, b)", "NEUTRAL": "float('-inf')", "REVERSE": "False"}, "torch.randn(5, 50)"),
    ("suffix_sum", "x.flip(1).cumsum(1).flip(1)", SCAN, {"OP": "a + b", "NEUTRAL": "0.0", "REVERSE": "True"}, "torch.randn(7, 20)"),
    ("cumsum_chunks", "torch.cumsum(x, 1)", SCAN_CARRY, {"STORE": "r"}, "torch.randn(3, 150)"),
    ("cumsum_exclusive", "torch.cumsum(x, 1) - x", SCAN_CARRY, {"STORE": "r - v"}, "torch.randn(3, 100)"),
]  # fmt: skip
INPUTS = [
    "torch.randn(9, 50)",
    "torch.randn(2, 5, 33)",
    "torch.randn(17, 128)",
    "torch.randn(4, 3, 2, 20)",
    "torch.randn(3, 700)",
]


def cases() -> Iterator[Made]:
    styles = list(ROW_STYLES)
    for number, (op, (expr, neutral, part, combine, finish)) in enumerate(ROW_OPS.items()):
        source = task(expr, INPUTS[number % len(INPUTS)])
        for style in [styles[number % 3], styles[(number + 1) % 3]]:
            values = {"NEUTRAL": neutral, "PART": part, "FINISH": finish}
            if style == "loop":
                values |= {"COMBINE": combine, "START": START.get(op, "0.0")}
            yield Made(f"red_{op}", source, f"red_{op}_{style}", "R1", fill(ROW_STYLES[style], **values))
    for number, (op, (expr, term, inside, outside, inputs, ids)) in enumerate(FULL_OPS.items()):
        for style in [list(FULL_STYLES)[number % 3], list(FULL_STYLES)[(number + 1) % 3]]:
            finish = outside if style == "atomic" else inside
            also = ", R17" if style == "atomic" else ""
            body = fill(FULL_STYLES[style], TERM=term, FINISH=finish)
            yield Made(f"red_full_{op}", task(expr, inputs), f"red_full_{op}_{style}", ids + also, body)
    for op, (expr, dim, keep, neutral, start, combine, finish, inputs) in COLUMN_OPS.items():
        out = "(*before, 1, *after)" if keep else "(*before, *after)"
        values = {"NEUTRAL": neutral, "START": start, "COMBINE": combine, "FINISH": finish, "DIM": str(dim), "OUT": out}
        yield Made(f"red_{op}", task(expr, inputs), f"red_{op}", "R1", fill(COLUMNS, **values))
    yield from _index_cases()
    for name, expr, template, values, inputs in SCANS:
        yield Made(f"scan_{name}", task(expr, inputs), f"scan_{name}", "R1", fill(template, **values))


def _index_cases() -> Iterator[Made]:
    for op, neutral, compare in (("argmax", "float('-inf')", "here > best"), ("argmin", "float('inf')", "here < best")):
        body = fill(INDEX, NEUTRAL=neutral, FIND=f"tl.{op}")
        yield Made(f"{op}_last", task(f"x.{op}(-1)", "torch.randn(3, 6, 40)"), f"{op}_block", "R13, R15", body)
        values = {"NEUTRAL": neutral, "FIND": f"tl.{op}", "REDUCE": f"tl.{op[3:]}", "COMPARE": compare}
        yield Made(
            f"{op}_rows",
            task(f"torch.{op}(x, 1)", "torch.randn(8, 75)"),
            f"{op}_loop",
            "R13, R15",
            fill(INDEX_LOOP, **values),
        )
    logic = [
        ("any", "(x > 1.5).any(1)", "0.0", "v > 1.5", "tl.max(hit, 0) > 0", "torch.bool"),
        ("all", "(x > -2.0).all(1)", "0.0", "v > -2.0", "tl.min(hit, 0) > 0", "torch.bool"),
        ("count", "(x > 0).sum(1)", "-1.0", "v > 0", "tl.sum(hit, 0).to(tl.int64)", "torch.int64"),
    ]
    for op, expr, neutral, test, finish, dtype in logic:
        body = fill(LOGICAL, NEUTRAL=neutral, TEST=test, FINISH=finish, DTYPE=dtype)
        yield Made(f"red_{op}", task(expr, "torch.randn(24, 18)"), f"red_{op}", "R13", body)
