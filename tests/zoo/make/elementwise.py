# ruff: noqa: E501 - tables, one row a case
"""Elementwise ops: activations and arithmetic x launch styles x dtypes x shapes, and broadcasting binary ops."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

# name: (torch expression of x, Triton expression of v)
UNARY = {
    "relu": ("torch.relu(x)", "tl.maximum(v, 0.0)"),
    "sigmoid": ("torch.sigmoid(x)", "1.0 / (1.0 + tl.exp(-v))"),
    "tanh": ("torch.tanh(x)", "2.0 * tl.sigmoid(2.0 * v) - 1.0"),
    "gelu": ("F.gelu(x)", "0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))"),
    "gelu_tanh": (
        "F.gelu(x, approximate='tanh')",
        "v * tl.sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))",
    ),
    "silu": ("F.silu(x)", "v * tl.sigmoid(v)"),
    "softplus": ("F.softplus(x)", "tl.where(v > 20.0, v, tl.log(1.0 + tl.exp(tl.minimum(v, 20.0))))"),
    "leaky_relu": ("F.leaky_relu(x, 0.1)", "tl.where(v >= 0, v, 0.1 * v)"),
    "elu": ("F.elu(x, 1.5)", "tl.where(v > 0, v, 1.5 * (tl.exp(tl.minimum(v, 0.0)) - 1.0))"),
    "selu": (
        "F.selu(x)",
        "1.0507009873554805 * tl.where(v > 0, v, 1.6732632423543772 * (tl.exp(tl.minimum(v, 0.0)) - 1.0))",
    ),
    "hardswish": ("F.hardswish(x)", "v * tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0) / 6.0"),
    "hardsigmoid": ("F.hardsigmoid(x)", "tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0) / 6.0"),
    "hardtanh": ("F.hardtanh(x, -0.5, 0.75)", "tl.minimum(tl.maximum(v, -0.5), 0.75)"),
    "relu6": ("F.relu6(3 * x)", "tl.minimum(tl.maximum(3.0 * v, 0.0), 6.0)"),
    "softsign": ("F.softsign(x)", "v / (1.0 + tl.abs(v))"),
    "mish": ("F.mish(x)", "v * (2.0 * tl.sigmoid(2.0 * tl.log(1.0 + tl.exp(tl.minimum(v, 30.0)))) - 1.0)"),
    "logsigmoid": ("F.logsigmoid(x)", "tl.minimum(v, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(v)))"),
    "tanhshrink": ("F.tanhshrink(x)", "v - (2.0 * tl.sigmoid(2.0 * v) - 1.0)"),
    "softshrink": ("F.softshrink(x, 0.25)", "tl.where(v > 0.25, v - 0.25, tl.where(v < -0.25, v + 0.25, 0.0))"),
    "square": ("x.square() - 1.0", "v * v - 1.0"),
    "cubic": ("x * x * x - 2 * x", "v * (v * v - 2.0)"),
    "exp": ("torch.exp(x)", "tl.exp(v)"),
    "gaussian": ("torch.exp(-0.5 * x * x)", "tl.exp2(-0.7213475204444817 * v * v)"),
    "sqrt_abs": ("torch.sqrt(x.abs())", "tl.sqrt(tl.abs(v))"),
    "rsqrt": ("torch.rsqrt(x * x + 1.0)", "tl.rsqrt(v * v + 1.0)"),
    "log1p": ("torch.log1p(x.abs())", "tl.log(1.0 + tl.abs(v))"),
    "sin_scaled": ("torch.sin(2 * x) * 0.5", "tl.sin(2.0 * v) * 0.5"),
    "cos_shift": ("torch.cos(x + 0.25)", "tl.cos(v + 0.25)"),
    "erf": ("torch.erf(x)", "tl.erf(v)"),
    "floor_frac": ("4 * x - torch.floor(4 * x)", "4.0 * v - tl.floor(4.0 * v)"),
    "reciprocal": ("1.0 / (x.abs() + 0.5)", "1.0 / (tl.abs(v) + 0.5)"),
    "clamp_scale": ("torch.clamp(x, -1.0, 1.0) * 3.0", "tl.clamp(v, -1.0, 1.0) * 3.0"),
    "threshold": ("F.threshold(x, 0.1, -7.0)", "tl.where(v > 0.1, v, -7.0)"),
    "swish_chain": ("torch.tanh(F.silu(x)) + x", "2.0 * tl.sigmoid(2.0 * v * tl.sigmoid(v)) - 1.0 + v"),
}

SHAPES = ["(7, 33)", "(1000)", "(3, 5, 17)", "(2, 3, 8, 9)", "(1, 257)", "(64, 16)", "(5, 1, 31)"]

FLAT = """
@triton.jit
def @NAME@_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, @EXPR@, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        @NAME@_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
"""
ROWS = """
@triton.jit
def rows_kernel(src, dst, cols, BLOCK: tl.constexpr):
    # one program a row, columns in steps
    row = tl.program_id(0)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(src + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        tl.store(dst + row * cols + c, @EXPR@, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        flat = x.contiguous().view(-1, x.shape[-1])
        out = torch.empty_like(flat)
        rows_kernel[(flat.shape[0],)](flat, out, flat.shape[1], BLOCK=64)
        return out.view(x.shape)
"""
TILE = """
@triton.jit
def tile_kernel(x_ptr, y_ptr, M, N, sxm, sxn, sym, syn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (m < M) & (n < N)
    v = tl.load(x_ptr + m * sxm + n * sxn, mask=inside, other=0.0).to(tl.float32)
    r = @EXPR@
    tl.store(y_ptr + m * sym + n * syn, r.to(y_ptr.dtype.element_ty), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x2 = x.reshape(x.shape[0], -1)
        y2 = torch.empty(x2.shape, dtype=x.dtype, device=x.device)
        M, N = x2.shape
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        tile_kernel[grid](x2, y2, M, N, *x2.stride(), *y2.stride(), BM=8, BN=32)
        return y2.reshape(x.shape)
"""
LOOP = """
PROGRAMS = 4


@triton.jit
def persistent(x_ptr, y_ptr, n, P: tl.constexpr, BLOCK: tl.constexpr):
    # a fixed number of programs stride over the whole tensor
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), P):
        i = block * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
        tl.store(y_ptr + i, @EXPR@, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = 128

    def forward(self, x):
        x = x.contiguous()
        y = x.new_empty(x.shape)
        persistent[(PROGRAMS,)](x, y, x.numel(), P=PROGRAMS, BLOCK=self.block)
        return y
"""
HELPER = """
@triton.jit
def _act(v):
    return @EXPR@


@triton.jit
def apply_act(inp, out, count, BLOCK: tl.constexpr):
    idx = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    keep = idx < count
    val = tl.load(inp + idx, mask=keep, other=0).to(tl.float32)
    tl.store(out + idx, _act(val), mask=keep)


def run_act(t):
    out = torch.empty_like(t, memory_format=torch.contiguous_format)
    apply_act[(triton.cdiv(t.numel(), 512),)](t.contiguous(), out, t.numel(), BLOCK=512)
    return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = run_act

    def forward(self, x):
        return self.op(x)
"""
TUNED_ONE = """
@triton.autotune(configs=[triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + offs, @EXPR@, mask=offs < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
        return y
"""
TUNED_MANY = """
CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w, num_stages=2) for b, w in ((128, 2), (256, 4), (1024, 8))]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    v = tl.load(x_ptr + offs, mask=mask).to(tl.float32)
    tl.store(y_ptr + offs, @EXPR@, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)

        def grid(meta):
            return (triton.cdiv(x.numel(), meta["BLOCK"]),)

        tuned[grid](x, out, x.numel())
        return out
"""
HEURISTIC = """
@triton.heuristics({"BLOCK": lambda args: min(1024, triton.next_power_of_2(args["n"]))})
@triton.jit
def sized(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    base = tl.program_id(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + base + lane, mask=base + lane < n).to(tl.float32)
    tl.store(y_ptr + base + lane, @EXPR@, mask=base + lane < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        sized[lambda m: (triton.cdiv(x.numel(), m["BLOCK"]),)](x, y, x.numel())
        return y
"""
INPLACE = """
@triton.jit
def overwrite(p, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(p + o, mask=o < n).to(tl.float32)
    tl.store(p + o, @EXPR@, mask=o < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone(memory_format=torch.contiguous_format)  # the caller's tensor stays as it is
        overwrite[(triton.cdiv(y.numel(), 128),)](y, y.numel(), 128)
        return y
"""
UNROLLED = """
@triton.jit
def unrolled(x_ptr, y_ptr, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    first = tl.program_id(0) * BLOCK * STEPS
    for step in tl.static_range(STEPS):
        at = first + step * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
        tl.store(y_ptr + at, @EXPR@, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        (x,) = inputs
        y = torch.empty_like(x)
        unrolled[(triton.cdiv(x.numel(), 64 * 4),)](x, y, x.numel(), BLOCK=64, STEPS=4)
        return y
"""
FUNCTION = """
@triton.jit
def forward_kernel(X, Y, N, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(X + offsets, mask=offsets < N, other=0.0).to(tl.float32)
    tl.store(Y + offsets, @EXPR@, mask=offsets < N)


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        forward_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

    @staticmethod
    def backward(ctx, grad):
        raise NotImplementedError


class ModelNew(torch.nn.Module):
    def __init__(self) -> None:
        super(ModelNew, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Op.apply(x.contiguous())
"""
STYLES = {
    "flat": (FLAT, "plain"), "rows": (ROWS, "plain"), "tile": (TILE, "R18"), "loop": (LOOP, "plain"),
    "helper": (HELPER, "plain"), "tuned1": (TUNED_ONE, "R22"), "tuned3": (TUNED_MANY, "R22, R24, R31"),
    "heuristic": (HEURISTIC, "plain"), "inplace": (INPLACE, "R10"), "unrolled": (UNROLLED, "plain"),
    "function": (FUNCTION, "R20"),
}  # fmt: skip

# name: (torch expression of x and y, Triton expression of a and b, output dtype or "", inputs, id)
BINARY = {
    "add_rows": ("x + y", "a + b", "", "torch.randn(9, 40), torch.randn(40)", "plain"),
    "sub_cols": ("x - y", "a - b", "", "torch.randn(12, 25), torch.randn(12, 1)", "plain"),
    "mul_outer": ("x * y", "a * b", "", "torch.randn(21, 1), torch.randn(1, 34)", "plain"),
    "div_same": ("x / y", "a / b", "", "torch.randn(6, 50), torch.rand(6, 50) + 0.5", "plain"),
    "maximum": ("torch.maximum(x, y)", "tl.maximum(a, b)", "", "torch.randn(4, 8, 10), torch.randn(8, 10)", "plain"),
    "minimum": ("torch.minimum(x, y)", "tl.minimum(a, b)", "", "torch.randn(3, 70), torch.randn(3, 70)", "plain"),
    "scalar_tensor": ("x * y", "a * b", "", "torch.randn(11, 13), torch.randn(())", "R12"),
    "square_diff": ("(x - y) ** 2", "(a - b) * (a - b)", "", "torch.randn(2, 9, 14), torch.randn(2, 1, 14)", "plain"),
    "gated": ("torch.sigmoid(x) * y", "tl.sigmoid(a) * b", "", "torch.randn(16, 24), torch.randn(16, 24)", "plain"),
    "hypot": ("torch.sqrt(x * x + y * y)", "tl.sqrt(a * a + b * b)", "", "torch.randn(150), torch.randn(150)", "plain"),
    "lerp": ("torch.lerp(x, y, 0.3)", "a + 0.3 * (b - a)", "", "torch.randn(8, 19), torch.randn(19)", "plain"),
    "greater": ("x > y", "a > b", "torch.bool", "torch.randn(10, 27), torch.randn(10, 27)", "R13"),
    "less_equal": ("x <= y", "a <= b", "torch.bool", "torch.randn(5, 44), torch.randn(44)", "R13"),
    "equal_int": (
        "x == y", "a == b", "torch.bool", "torch.randint(0, 3, (13, 21)), torch.randint(0, 3, (13, 21))", "R13, R6",
    ),
    "add_int": ("x + 2 * y", "a + 2 * b", "", "torch.randint(-9, 9, (6, 31)), torch.randint(-9, 9, (31,))", "R13, R6"),
    "bit_and": (
        "x & y", "a & b", "", "torch.randint(0, 255, (7, 30)).int(), torch.randint(0, 255, (7, 30)).int()", "R13",
    ),
    "half_add": ("x + y", "a + b", "", "torch.randn(9, 33).half(), torch.randn(33).half()", "R19"),
    "half_mul": ("x * y", "a * b", "", "torch.randn(300).half(), torch.randn(300).half()", "R19"),
    "where_pick": (
        "torch.where(x > 0, y, -x)", "tl.where(a > 0, b, -a)", "", "torch.randn(14, 15), torch.randn(14, 15)", "plain",
    ),
    "int_times_float": ("x * y", "a * b", "torch.float32", "torch.randint(0, 5, (8, 12)), torch.randn(8, 12)", "R6, R19"),
}  # fmt: skip

BROADCAST = """
@triton.jit
def binary(x_ptr, y_ptr, z_ptr, M, N, xm, xn, ym, yn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    ok = (m < M) & (n < N)
    a = tl.load(x_ptr + m * xm + n * xn, mask=ok)
    b = tl.load(y_ptr + m * ym + n * yn, mask=ok)
    tl.store(z_ptr + m * N + n, @EXPR@, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, y):
        x, y = torch.broadcast_tensors(x, y)  # stride 0 where a size is 1
        shape = x.shape
        x, y = x.reshape(-1, shape[-1]), y.reshape(-1, shape[-1])
        z = torch.empty(x.shape, dtype=@DTYPE@, device=x.device)
        M, N = x.shape
        binary[(triton.cdiv(M, 4), triton.cdiv(N, 32))](x, y, z, M, N, *x.stride(), *y.stride(), BM=4, BN=32)
        return z.reshape(shape)
"""
EXPANDED = """
@triton.jit
def pointwise2(lhs, rhs, res, size, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(lhs + i, mask=i < size)
    b = tl.load(rhs + i, mask=i < size)
    tl.store(res + i, @EXPR@, mask=i < size)


class ModelNew(nn.Module):
    def forward(self, x, y):
        full = torch.broadcast_shapes(x.shape, y.shape)
        x, y = x.expand(full).contiguous(), y.expand(full).contiguous()
        z = torch.empty(full, dtype=@DTYPE@, device=x.device)
        pointwise2[(triton.cdiv(z.numel(), 128),)](x, y, z, z.numel(), B=128)
        return z
"""


def cases() -> Iterator[Made]:
    names = list(STYLES)
    for number, (op, (torch_expr, triton_expr)) in enumerate(UNARY.items()):
        half = number % 7 == 3
        inputs = f"torch.randn{SHAPES[number % len(SHAPES)]}" + (".half()" if half else "")
        source = task(torch_expr, inputs)
        for step in range(3):  # three styles an op, so that each style meets many ops
            style = names[(number + 4 * step) % len(names)]
            template, ids = STYLES[style]
            values = {"EXPR": triton_expr} | ({"NAME": op} if "@NAME@" in template else {})
            ids = "R19" if half and ids == "plain" else ids
            yield Made(f"ew_{op}", source, f"ew_{op}_{style}", ids, fill(template, **values))
    for number, (op, (torch_expr, triton_expr, dtype, inputs, ids)) in enumerate(BINARY.items()):
        style, template = [("strides", BROADCAST), ("expanded", EXPANDED)][number % 2]
        body = fill(template, EXPR=triton_expr, DTYPE=dtype or "x.dtype")
        yield Made(f"bin_{op}", task(torch_expr, inputs, "x, y"), f"bin_{op}_{style}", ids, body)
