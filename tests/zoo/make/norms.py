# ruff: noqa: E501 - tables, one row a case
"""Softmax and normalisation kernels: whole row, two passes, online, groups and channels, with and without weights."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

SOFTMAX_BLOCK = """
@triton.jit
def softmax_rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf")).to(tl.float32)
    v = @SIGN@v
    v = tl.where(c < cols, v, float("-inf"))
    z = v - tl.max(v, 0)
    e = tl.exp(z)
    s = tl.sum(e, 0)
    tl.store(y_ptr + row * cols + c, @RESULT@, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cols = x.shape[-1]
        softmax_rows[(x.numel() // cols,)](x.contiguous(), y, cols, BLOCK=triton.next_power_of_2(cols))
        return y
"""
SOFTMAX_ONLINE = """
@triton.jit
def softmax_online(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full((), float("-inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = @SIGN@tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        v = tl.where(c < cols, v, float("-inf"))
        new = tl.maximum(m, tl.max(v, 0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), 0)
        m = new
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        z = @SIGN@tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32) - m
        e = tl.exp(z)
        tl.store(y_ptr + row * cols + c, @RESULT@, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.contiguous().view(-1, x.shape[-1])
        out = torch.empty_like(rows)
        softmax_online[(rows.shape[0],)](rows, out, rows.shape[1], BLOCK=32)
        return out.view_as(x)
"""
SOFTMAX_COLUMNS = """
@triton.jit
def softmax_cols(x_ptr, y_ptr, rows, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = tl.arange(0, R)
    at = r[:, None] * cols + c[None, :]
    ok = (r[:, None] < rows) & (c[None, :] < cols)
    v = tl.load(x_ptr + at, mask=ok, other=0.0).to(tl.float32)
    v = tl.where(r[:, None] < rows, @SIGN@v, float("-inf"))
    z = v - tl.max(v, 0)[None, :]
    e = tl.exp(z)
    s = tl.sum(e, 0)[None, :]
    tl.store(y_ptr + at, @RESULT@, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, cols = x.shape
        softmax_cols[(triton.cdiv(cols, 16),)](x, y, rows, cols, R=triton.next_power_of_2(rows), BLOCK=16)
        return y
"""
# name: (torch call with @DIM@, sign, result of z, e, s)
SOFTMAXES = {
    "softmax": ("torch.softmax(x, dim=@DIM@)", "", "e / s"),
    "log_softmax": ("F.log_softmax(x, dim=@DIM@)", "", "z - tl.log(s)"),
    "softmin": ("F.softmin(x, dim=@DIM@)", "-", "e / s"),
    "softmax_temperature": ("torch.softmax(2 * x, dim=@DIM@)", "2.0 * ", "e / s"),
}
LOGSUMEXP = """
@triton.jit
def lse(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf"))
    m = tl.max(v, 0)
    tl.store(y_ptr + row, m + tl.log(tl.sum(tl.exp(v - m), 0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0], 1)
        lse[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
"""

NORM_BLOCK = """
@triton.jit
def norm_rows(x_ptr, @WPTR@y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    v = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    @STAT@
    r = @APPLY@
    tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        @INIT@

    def forward(self, x):
        y = torch.empty_like(x)
        cols = x.shape[-1]
        grid = (x.numel() // cols,)
        norm_rows[grid](x.contiguous(), @WARG@y, cols, @EPS@, BLOCK=triton.next_power_of_2(cols))
        return y
"""
NORM_LOOP = """
@triton.jit
def norm_rows(x_ptr, @WPTR@y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        first += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    mean = @MEAN@
    second = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        d = tl.where(c < cols, v - mean, 0.0)
        second += d * d
    scale = @SCALE@
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        ok = c < cols
        v = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
        r = @APPLY@
        tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        @INIT@

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        out = torch.empty_like(flat)
        norm_rows[(flat.shape[0],)](flat, @WARG@out, flat.shape[1], @EPS@, BLOCK=32)
        return out.reshape(x.shape)
"""
CENTER = "mean = tl.sum(v, 0) / cols\n    d = tl.where(ok, v - mean, 0.0)\n    scale = tl.rsqrt(tl.sum(d * d, 0) / cols + eps)"
AFFINE = "(v - mean) * scale * tl.load(w_ptr + c, mask=ok) + tl.load(b_ptr + c, mask=ok)"
W_ONLY = "v * scale * tl.load(w_ptr + c, mask=ok)"
RMS = "scale = tl.rsqrt(tl.sum(v * v, 0) / cols + eps)"
RMS_SCALE = "tl.rsqrt(tl.sum(second, 0) / cols + eps)"
# name: (forward, init of both, inputs, weights: pointer params and arguments, eps, stat, apply, mean, scale, ids)
NORMS = {
    "layer_affine": (
        "self.norm(x)", "self.norm = nn.LayerNorm(@N@)", "w_ptr, b_ptr, ", "self.norm.weight, self.norm.bias, ",
        "self.norm.eps", CENTER, AFFINE, "tl.sum(first, 0) / cols", RMS_SCALE, "R4",
    ),
    "layer_plain": (
        "F.layer_norm(x, x.shape[-1:])", "pass", "", "", "1e-5", CENTER, "(v - mean) * scale",
        "tl.sum(first, 0) / cols", RMS_SCALE, "R1",
    ),
    "rms_weight": (
        "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight", "self.weight = nn.Parameter(torch.rand(@N@) + 0.5)",
        "w_ptr, ", "self.weight, ", "1e-6", RMS, W_ONLY, "0.0", RMS_SCALE, "R4",
    ),
    "rms_plain": (
        "F.rms_norm(x, x.shape[-1:], eps=1e-5)", "pass", "", "", "1e-5", RMS, "v * scale", "0.0", RMS_SCALE, "R1",
    ),
    "l2_normalize": (
        "F.normalize(x, dim=-1)", "pass", "", "", "1e-12", "scale = 1.0 / tl.maximum(tl.sqrt(tl.sum(v * v, 0)), eps)",
        "v * scale", "0.0", "1.0 / tl.maximum(tl.sqrt(tl.sum(second, 0)), eps)", "R1",
    ),
    "standardise": (
        "(x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)", "pass", "", "", "0.0",
        "mean = tl.sum(v, 0) / cols\n    d = tl.where(ok, v - mean, 0.0)\n    scale = 1.0 / (tl.sqrt(tl.sum(d * d, 0) / (cols - 1)) + eps)",
        "(v - mean) * scale", "tl.sum(first, 0) / cols", "1.0 / (tl.sqrt(tl.sum(second, 0) / (cols - 1)) + eps)", "R1",
    ),
    "layer_residual": (
        "self.norm(x) + x", "self.norm = nn.LayerNorm(@N@)", "w_ptr, b_ptr, ", "self.norm.weight, self.norm.bias, ",
        "self.norm.eps", CENTER, AFFINE + " + v", "tl.sum(first, 0) / cols", RMS_SCALE, "R4",
    ),
    "layer_gelu": (
        "F.gelu(self.norm(x))", "self.norm = nn.LayerNorm(@N@)", "w_ptr, b_ptr, ", "self.norm.weight, self.norm.bias, ",
        "self.norm.eps", CENTER + "\n    n = " + AFFINE, "0.5 * n * (1.0 + tl.erf(n * 0.7071067811865476))", "", "", "R4",
    ),
}  # fmt: skip

CHANNEL_NORM = """
@triton.jit
def norm_channels(x_ptr, y_ptr, w_ptr, b_ptr, groups, channels, size, eps, PER: tl.constexpr, BLOCK: tl.constexpr):
    # one program a (sample, group): PER channels of `size` pixels lie next to each other
    g = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    ok = i < PER * size
    v = tl.load(x_ptr + g * PER * size + i, mask=ok, other=0.0)
    mean = tl.sum(v, 0) / (PER * size)
    d = tl.where(ok, v - mean, 0.0)
    inv = tl.rsqrt(tl.sum(d * d, 0) / (PER * size) + eps)
    c = (g % groups) * PER + i // size
    w = tl.load(w_ptr + c, mask=ok)
    b = tl.load(b_ptr + c, mask=ok)
    tl.store(y_ptr + g * PER * size + i, @ACT@, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = @NORM@

    def forward(self, x):
        N, C = x.shape[:2]
        size = x[0, 0].numel()
        groups = @GROUPS@
        per = C // groups
        y = torch.empty_like(x)
        block = triton.next_power_of_2(per * size)
        norm_channels[(N * groups,)](
            x.contiguous(), y, self.norm.weight, self.norm.bias, groups, C, size, self.norm.eps, PER=per, BLOCK=block
        )
        return y
"""
BATCH_EVAL = """
@triton.jit
def scale_shift(x_ptr, y_ptr, w, b, mean, var, channels, size, n, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    c = (i // size) % channels
    v = tl.load(x_ptr + i, mask=ok)
    k = tl.load(w + c, mask=ok) * tl.rsqrt(tl.load(var + c, mask=ok, other=1.0) + eps)
    r = (v - tl.load(mean + c, mask=ok)) * k + tl.load(b + c, mask=ok)
    tl.store(y_ptr + i, @ACT@, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = @NORM@.eval()

    def forward(self, x):
        bn, y = self.bn, torch.empty_like(x)
        args = (bn.weight, bn.bias, bn.running_mean, bn.running_var)
        scale_shift[(triton.cdiv(x.numel(), 128),)](
            x.contiguous(), y, *args, x.shape[1], x.numel() // (x.shape[0] * x.shape[1]), x.numel(), bn.eps, BLOCK=128
        )
        return y
"""
SHAPES = [("5, 3, 48", "48"), ("11, 30", "30"), ("4, 100", "100"), ("2, 3, 4, 17", "17")]


def cases() -> Iterator[Made]:
    for number, (op, (expr, sign, result)) in enumerate(SOFTMAXES.items()):
        for style, template, dim, inputs in (
            ("block", SOFTMAX_BLOCK, "-1", "torch.randn(3, 5, 29)"),
            ("online", SOFTMAX_ONLINE, "-1", f"torch.randn({4 + number}, 130)"),
            ("columns", SOFTMAX_COLUMNS, "0", "torch.randn(19, 45)"),
        ):
            source = task(fill(expr, DIM=dim), inputs)
            yield Made(f"{op}_{style}", source, f"{op}_{style}", "R1", fill(template, SIGN=sign, RESULT=result))
    body = fill(SOFTMAX_BLOCK, SIGN="", RESULT="e / s")
    yield Made("softmax_half", task("torch.softmax(x, -1)", "torch.randn(6, 64).half()"), "softmax_half", "R19", body)
    yield Made(
        "logsumexp_keep",
        task("torch.logsumexp(x, 1, keepdim=True)", "3 * torch.randn(9, 26)"),
        "logsumexp_keep",
        "R1",
        LOGSUMEXP,
    )
    for number, (op, row) in enumerate(NORMS.items()):
        forward, init, pointers, arguments, eps, stat, apply, mean, scale, ids = row
        shape, size = SHAPES[number % len(SHAPES)]
        init = init.replace("@N@", size)
        source = task(forward, f"torch.randn({shape})", init="" if init == "pass" else init)
        shared = {"WPTR": pointers, "WARG": arguments, "INIT": init, "EPS": eps, "APPLY": apply}
        yield Made(f"norm_{op}", source, f"norm_{op}_block", ids, fill(NORM_BLOCK, STAT=stat, **shared))
        if scale:
            yield Made(f"norm_{op}", source, f"norm_{op}_loop", ids, fill(NORM_LOOP, MEAN=mean, SCALE=scale, **shared))
    yield from _channel_cases()


def _channel_cases() -> Iterator[Made]:
    plain, relu = "(v - mean) * inv * w + b", "tl.maximum((v - mean) * inv * w + b, 0.0)"
    for name, norm, groups, shape, act, forward in (
        ("group", "nn.GroupNorm(3, 6)", "self.norm.num_groups", "2, 6, 5, 4", plain, "self.norm(x)"),
        ("group_relu", "nn.GroupNorm(2, 8)", "self.norm.num_groups", "3, 8, 7", relu, "torch.relu(self.norm(x))"),
        ("instance", "nn.InstanceNorm2d(4, affine=True)", "C", "2, 4, 6, 7", plain, "self.norm(x)"),
        ("instance1d", "nn.InstanceNorm1d(5, affine=True)", "C", "3, 5, 21", plain, "self.norm(x)"),
    ):
        source = task(forward, f"torch.randn({shape})", init=f"self.norm = {norm}")
        yield Made(f"norm_{name}", source, f"norm_{name}", "R4", fill(CHANNEL_NORM, ACT=act, NORM=norm, GROUPS=groups))
    for name, norm, shape, act, forward in (
        ("batch_eval", "nn.BatchNorm2d(5)", "3, 5, 4, 6", "r", "self.bn(x)"),
        ("batch1d_eval", "nn.BatchNorm1d(7)", "9, 7", "r", "self.bn(x)"),
        ("batch_eval_silu", "nn.BatchNorm2d(3)", "2, 3, 5, 5", "r * tl.sigmoid(r)", "F.silu(self.bn(x))"),
    ):
        source = task(forward, f"torch.randn({shape})", init=f"self.bn = {norm}.eval()")
        yield Made(f"norm_{name}", source, f"norm_{name}", "R4, R8", fill(BATCH_EVAL, NORM=norm, ACT=act))
