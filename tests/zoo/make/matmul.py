# ruff: noqa: E501 - tables, one row a case
"""Matrix products: layout x tiling x epilogue x dtype; split-K, batched, matrix-vector, small hand loops."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

DOT = """
@triton.jit
def matmul_tile(
    a_ptr, b_ptr, c_ptr, @EXTRA@M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    @EPILOGUE@
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):@INIT@
    def forward(self, @ARGS@):
        a, b = @A@, @B@
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty((M, N), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(M, @BM@), triton.cdiv(N, @BN@))
        matmul_tile[grid](a, b, c, @PASS@M, N, K, *a.stride(), *b.stride(), BM=@BM@, BN=@BN@, BK=@BK@)
        return @RETURN@
"""
GROUPED = """
@triton.jit
def matmul_grouped(
    a_ptr, b_ptr, c_ptr, @EXTRA@M, N, K, am, ak, bk, bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    # neighbouring programs share rows of b, so that they stay in the L2 cache
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    per_group = GROUP * num_n
    first = (pid // per_group) * GROUP
    rows = min(num_m - first, GROUP)
    pm = first + (pid % per_group) % rows
    pn = (pid % per_group) // rows
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a_ptr + m[:, None] * am + k[None, :] * ak
    pb = b_ptr + k[:, None] * bk + n[None, :] * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        a = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(pb, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        pa += BK * ak
        pb += BK * bk
    @EPILOGUE@
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):@INIT@
    def forward(self, @ARGS@):
        a, b = @A@, @B@
        (M, K), N = a.shape, b.shape[1]
        c = a.new_empty(M, N)
        tiles = triton.cdiv(M, @BM@) * triton.cdiv(N, @BN@)
        matmul_grouped[(tiles,)](
            a, b, c, @PASS@M, N, K, *a.stride(), *b.stride(), BM=@BM@, BN=@BN@, BK=@BK@, GROUP=2
        )
        return @RETURN@
"""
OUTER = """
@triton.jit
def rank_one_updates(a_ptr, b_ptr, c_ptr, @EXTRA@M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr):
    # adds one outer product a[:, k] b[k, :] a step: no tensor cores, exact float32
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(K):
        a = tl.load(a_ptr + m * am + k * ak, mask=m < M, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + k * bk + n * bn, mask=n < N, other=0.0).to(tl.float32)
        acc += a[:, None] * b[None, :]
    @EPILOGUE@
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):@INIT@
    def forward(self, @ARGS@):
        a, b = @A@, @B@
        M, K = a.shape
        _, N = b.shape
        c = torch.empty(M, N, dtype=a.dtype, device=a.device)
        rank_one_updates[(triton.cdiv(M, @BM@), triton.cdiv(N, @BN@))](
            a, b, c, @PASS@M, N, K, *a.stride(), *b.stride(), BM=@BM@, BN=@BN@
        )
        return @RETURN@
"""
SPLIT_K = """
@triton.jit
def matmul_split(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, SPLIT: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k0 in range(tl.program_id(2) * B, K, SPLIT * B):
        k = k0 + tl.arange(0, B)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.atomic_add(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):@INIT@
    def forward(self, @ARGS@):
        a, b = @A@, @B@
        M, K = a.shape
        N = b.shape[1]
        c = torch.zeros((M, N), dtype=torch.float32, device=a.device)
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), 4)
        matmul_split[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), SPLIT=4, B=16)
        return @RETURN@
"""
STYLES = {"dot": (DOT, "R1, R2"), "grouped": (GROUPED, "R1, R2"), "outer": (OUTER, "R1"), "split": (SPLIT_K, "R1, R17")}
TILES = [("16", "16", "16"), ("32", "16", "32"), ("16", "32", "16")]

LINEAR = "\n    def __init__(self):\n        super().__init__()\n        @LAYER@\n"
BIAS = "acc += tl.load(bias_ptr + n, mask=n < N, other=0.0)[None, :]"
# name: (torch forward, init, args, a, b, extra pointer, passed argument, epilogue, value returned, inputs, styles, ids)
PRODUCTS = {
    "mm": ("a @ b", "", "a, b", "a", "b", "", "", "pass", "c", "torch.randn(33, 40), torch.randn(40, 21)", "dot outer split", ""),
    "mm_at": ("a.T @ b", "", "a, b", "a.T", "b", "", "", "pass", "c", "torch.randn(24, 35), torch.randn(24, 18)", "grouped split", "R18"),
    "mm_bt": ("a @ b.T", "", "a, b", "a", "b.T", "", "", "pass", "c", "torch.randn(19, 50), torch.randn(27, 50)", "dot outer", "R18"),
    "mm_tall": ("torch.matmul(a, b)", "", "a, b", "a", "b", "", "", "pass", "c", "torch.randn(70, 9), torch.randn(9, 5)", "grouped outer", ""),
    "mm_deep": ("a @ b", "", "a, b", "a", "b", "", "", "pass", "c", "torch.randn(8, 700), torch.randn(700, 12)", "dot split", ""),
    "mm_half": ("a @ b", "", "a, b", "a", "b", "", "", "pass", "c", "torch.randn(30, 64).half(), torch.randn(64, 20).half()", "dot grouped outer", "R19"),
    "mm_relu": ("torch.relu(a @ b)", "", "a, b", "a", "b", "", "", "acc = tl.maximum(acc, 0.0)", "c", "torch.randn(20, 30), torch.randn(30, 40)", "dot grouped", ""),
    "mm_scale": ("0.25 * (a @ b)", "", "a, b", "a", "b", "", "", "acc = acc * 0.25", "c", "torch.randn(18, 34), torch.randn(34, 17)", "outer grouped", ""),
    "mm_sigmoid": ("torch.sigmoid(a @ b)", "", "a, b", "a", "b", "", "", "acc = tl.sigmoid(acc)", "c", "torch.randn(26, 16), torch.randn(16, 31)", "dot outer", ""),
    "addmm": ("torch.addmm(d, a, b)", "", "a, b, d", "a", "b", "d_ptr, ", "d, ", "acc += tl.load(d_ptr + m[:, None] * N + n[None, :], mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)", "c", "torch.randn(17, 23), torch.randn(23, 29), torch.randn(17, 29)", "dot outer", ""),
    "mm_residual": ("a @ b + a", "", "a, b", "a", "b", "", "", "acc += tl.load(a_ptr + m[:, None] * am + n[None, :] * ak, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)", "c", "torch.randn(21, 32), torch.randn(32, 32)", "dot grouped", ""),
    "linear": ("self.fc(x)", "self.fc = nn.Linear(30, 22)", "x", "x", "self.fc.weight.t()", "bias_ptr, ", "self.fc.bias, ", BIAS, "c", "torch.randn(25, 30)", "dot outer grouped", "R4"),
    "linear_nobias": ("self.proj(x)", "self.proj = nn.Linear(44, 18, bias=False)", "x", "x", "self.proj.weight.t()", "", "", "pass", "c", "torch.randn(12, 44)", "dot split", "R4"),
    "linear_gelu": ("F.gelu(self.fc(x))", "self.fc = nn.Linear(20, 36)", "x", "x", "self.fc.weight.t()", "bias_ptr, ", "self.fc.bias, ", BIAS + "\n    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))", "c", "torch.randn(15, 20)", "dot outer", "R4"),
    "linear_silu3d": ("F.silu(self.fc(x))", "self.fc = nn.Linear(16, 24)", "x", "x.reshape(-1, x.shape[-1])", "self.fc.weight.t()", "bias_ptr, ", "self.fc.bias, ", BIAS + "\n    acc = acc * tl.sigmoid(acc)", "c.view(*x.shape[:-1], N)", "torch.randn(2, 7, 16)", "grouped dot", "R4"),
    "param_matrix": ("x @ self.w", "self.w = nn.Parameter(torch.randn(28, 19) * 0.2)", "x", "x", "self.w", "", "", "pass", "c", "torch.randn(14, 28)", "outer split", "R4, R20"),
    "triangular": ("torch.tril(a @ b)", "", "a, b", "a", "b", "", "", "acc = tl.where(m[:, None] >= n[None, :], acc, 0.0)", "c", "torch.randn(25, 14), torch.randn(14, 25)", "dot outer", ""),
}  # fmt: skip

BATCHED = """
@triton.jit
def bmm(a_ptr, b_ptr, c_ptr, M, N, K, ab, am, ak, bb, bk, bn, B: tl.constexpr):
    batch = tl.program_id(2)
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k0 in range(0, K, B):
        k = k0 + tl.arange(0, B)
        a = tl.load(a_ptr + batch * ab + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + batch * bb + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + batch * M * N + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        @PREPARE@
        batch, M, K = a.shape
        N = b.shape[2]
        c = torch.empty((batch, M, N), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), batch)
        bmm[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), B=16)
        return c
"""
BATCHES = [
    ("bmm", "torch.bmm(a, b)", "pass", "torch.randn(3, 18, 20), torch.randn(3, 20, 9)"),
    ("bmm_bt", "a @ b.transpose(1, 2)", "b = b.transpose(1, 2)", "torch.randn(2, 17, 33), torch.randn(2, 21, 33)"),
    ("bmm_shared", "a @ b", "b = b.expand(a.shape[0], *b.shape)", "torch.randn(4, 10, 16), torch.randn(16, 12)"),
    ("einsum", "torch.einsum('bik,bkj->bij', a, b)", "pass", "torch.randn(2, 16, 40), torch.randn(2, 40, 16)"),
]
VECTOR = """
@triton.jit
def matvec(a_ptr, v_ptr, y_ptr, K, sm, sk, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k0 in range(0, K, BLOCK):
        k = k0 + tl.arange(0, BLOCK)
        acc += tl.load(a_ptr + row * sm + k * sk, mask=k < K, other=0.0) * tl.load(v_ptr + k, mask=k < K, other=0.0)
    tl.store(y_ptr + row, tl.sum(acc, 0))


class ModelNew(nn.Module):
    def forward(self, a, v):
        @PREPARE@
        y = a.new_empty(a.shape[0])
        matvec[(a.shape[0],)](a, v, y, a.shape[1], *a.stride(), BLOCK=64)
        return @RETURN@
"""
VECTORS = [
    ("matvec", "a @ v", "pass", "y", "torch.randn(28, 150), torch.randn(150)"),
    ("vecmat", "v @ a", "a = a.t()", "y", "torch.randn(60, 23), torch.randn(60)"),
    ("dot_product", "torch.dot(a, v)", "a = a.unsqueeze(0)", "y.squeeze(0)", "torch.randn(900), torch.randn(900)"),
    ("matvec_col", "a @ v", "pass", "y[:, None]", "torch.randn(20, 80), torch.randn(80, 1)"),
]
ATTENTION = """
@triton.jit
def attention_row(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, D)
    t = tl.arange(0, BLOCK)
    base = head * T * D
    at = base + t[:, None] * D + d[None, :]
    seen = @SEEN@
    q = tl.load(q_ptr + base + row * D + d)
    s = tl.sum(tl.load(k_ptr + at, mask=(t < T)[:, None], other=0.0) * q[None, :], 1) * scale
    s = tl.where(seen, s, float("-inf"))
    p = tl.exp(s - tl.max(s, 0))
    o = tl.sum(tl.load(v_ptr + at, mask=(t < T)[:, None], other=0.0) * p[:, None], 0) / tl.sum(p, 0)
    tl.store(o_ptr + base + row * D + d, o)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        B, H, T, D = q.shape
        o = torch.empty_like(q)
        grid = (T, B * H)
        attention_row[grid](
            q.contiguous(), k.contiguous(), v.contiguous(), o, T, D**-0.5, D=D, BLOCK=triton.next_power_of_2(T)
        )
        return o
"""


def cases() -> Iterator[Made]:
    for number, (op, row) in enumerate(PRODUCTS.items()):
        forward, init, args, a, b, extra, passed, epilogue, value, inputs, styles, ids = row
        source = task(forward, inputs, args, init)
        for step, style in enumerate(styles.split()):
            template, own = STYLES[style]
            values = {"INIT": fill(LINEAR, LAYER=init) if init else "", "ARGS": args, "A": a, "B": b}
            values["RETURN"] = value if style != "split" else f"{value}.to(a.dtype)"
            if style != "split":
                bm, bn, bk = TILES[(number + step) % len(TILES)]
                values |= {"EXTRA": extra, "PASS": passed, "EPILOGUE": epilogue, "BM": bm, "BN": bn}
                values |= {"BK": bk} if style != "outer" else {}
            body = fill(template, **values).replace("    pass\n    tl.store", "    tl.store")
            yield Made(f"mat_{op}", source, f"mat_{op}_{style}", f"{own}, {ids}" if ids else own, body)
    for name, forward, prepare, inputs in BATCHES:
        body = fill(BATCHED, PREPARE=prepare).replace("        pass\n", "")
        yield Made(f"mat_{name}", task(forward, inputs, "a, b"), f"mat_{name}", "R1, R2", body)
    for name, forward, prepare, value, inputs in VECTORS:
        body = fill(VECTOR, PREPARE=prepare, RETURN=value).replace("        pass\n", "")
        yield Made(f"mat_{name}", task(forward, inputs, "a, v"), f"mat_{name}", "R1", body)
    heads = ", ".join(["torch.randn(2, 2, 11, 16)"] * 3)
    for name, seen, causal in (("attention", "t < T", "False"), ("attention_causal", "t <= row", "True")):
        forward = f"F.scaled_dot_product_attention(q, k, v, is_causal={causal})"
        yield Made(name, task(forward, heads, "q, k, v"), name, "R1", fill(ATTENTION, SEEN=seen))
