# ruff: noqa: E501 - tables, one row a case
"""Convolution, pooling and resampling on small images."""

from __future__ import annotations

from collections.abc import Iterator

from tests.zoo.make import Made, fill, task

CONV = """
@triton.jit
def conv_direct(
    x_ptr, w_ptr, b_ptr, y_ptr, C, H, W, OC, OH, OW, n,
    KH: tl.constexpr, KW: tl.constexpr, S: tl.constexpr, P: tl.constexpr, D: tl.constexpr, G: tl.constexpr, BLOCK: tl.constexpr,
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    ow, oh, oc, b = i % OW, (i // OW) % OH, (i // (OW * OH)) % OC, i // (OW * OH * OC)
    per = C // G
    first = (oc // (OC // G)) * per
    acc = tl.load(b_ptr + oc, mask=live, other=0.0)
    for c in range(per):
        for kh in tl.static_range(KH):
            for kw in tl.static_range(KW):
                h, w = oh * S - P + kh * D, ow * S - P + kw * D
                ok = live & (h >= 0) & (h < H) & (w >= 0) & (w < W)
                v = tl.load(x_ptr + ((b * C + first + c) * H + h) * W + w, mask=ok, other=0.0)
                acc += v * tl.load(w_ptr + ((oc * per + c) * KH + kh) * KW + kw, mask=live, other=0.0)
    tl.store(y_ptr + i, @ACT@, mask=live)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = @CONV@

    def forward(self, x):
        c = self.conv
        (S, _), (P, _), (D, _), (KH, KW) = c.stride, c.padding, c.dilation, c.kernel_size
        N, C, H, W = x.shape
        OH = (H + 2 * P - D * (KH - 1) - 1) // S + 1
        OW = (W + 2 * P - D * (KW - 1) - 1) // S + 1
        y = torch.empty((N, c.out_channels, OH, OW), dtype=x.dtype, device=x.device)
        conv_direct[(triton.cdiv(y.numel(), 128),)](
            x.contiguous(), c.weight, c.bias, y, C, H, W, c.out_channels, OH, OW, y.numel(),
            KH=KH, KW=KW, S=S, P=P, D=D, G=c.groups, BLOCK=128,
        )
        return y
"""
CONVS = [
    ("conv3", "nn.Conv2d(3, 4, 3, padding=1)", "acc", "self.conv(x)", "2, 3, 7, 8"),
    ("conv_stride", "nn.Conv2d(2, 5, 3, stride=2)", "acc", "self.conv(x)", "2, 2, 9, 11"),
    ("conv_dilated", "nn.Conv2d(2, 3, 3, dilation=2, padding=2)", "acc", "self.conv(x)", "1, 2, 9, 8"),
    ("conv_depthwise", "nn.Conv2d(6, 6, 3, padding=1, groups=6)", "acc", "self.conv(x)", "2, 6, 6, 5"),
    (
        "conv_grouped_relu",
        "nn.Conv2d(4, 6, (2, 3), groups=2)",
        "tl.maximum(acc, 0.0)",
        "torch.relu(self.conv(x))",
        "2, 4, 6, 7",
    ),
    ("conv_pointwise_silu", "nn.Conv2d(8, 5, 1)", "acc * tl.sigmoid(acc)", "F.silu(self.conv(x))", "2, 8, 5, 6"),
]
CONV1D = """
@triton.jit
def conv1d(x_ptr, w_ptr, b_ptr, y_ptr, C, L, OC, OL, K: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    oc, b = tl.program_id(1), tl.program_id(2)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32) + tl.load(b_ptr + oc)
    for c in range(C):
        for k in tl.static_range(K):
            at = o - P + k
            v = tl.load(x_ptr + (b * C + c) * L + at, mask=(at >= 0) & (at < L), other=0.0)
            acc += v * tl.load(w_ptr + (oc * C + c) * K + k)
    tl.store(y_ptr + (b * OC + oc) * OL + o, acc, mask=o < OL)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(@SHAPE@)

    def forward(self, x):
        N, C, L = x.shape
        weight, pad = self.conv.weight, self.conv.padding[0]
        OC, _, K = weight.shape
        OL = L + 2 * pad - K + 1
        y = x.new_empty(N, OC, OL)
        conv1d[(triton.cdiv(OL, 32), OC, N)](x.contiguous(), weight, self.conv.bias, y, C, L, OC, OL, K=K, P=pad, BLOCK=32)
        return y
"""
POOL = """
@triton.jit
def pool(x_ptr, y_ptr, H, W, OH, OW, n, K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow, oh, plane = i % OW, (i // OW) % OH, i // (OW * OH)
    acc = tl.full((BLOCK,), @START@, tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            h, w = oh * S - P + kh, ow * S - P + kw
            ok = (i < n) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            v = tl.load(x_ptr + (plane * H + h) * W + w, mask=ok, other=@START@)
            acc = @COMBINE@
    tl.store(y_ptr + i, @FINISH@, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        K, S, P = @SIZES@
        OH, OW = (H + 2 * P - K) // S + 1, (W + 2 * P - K) // S + 1
        y = torch.empty((N, C, OH, OW), dtype=x.dtype, device=x.device)
        pool[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, H, W, OH, OW, y.numel(), K=K, S=S, P=P, BLOCK=128)
        return y
"""
POOLS = [
    ("maxpool2", "F.max_pool2d(x, 2)", "float('-inf')", "tl.maximum(acc, v)", "acc", "2, 2, 0", "2, 3, 8, 9"),
    ("maxpool3_pad", "F.max_pool2d(x, 3, 2, 1)", "float('-inf')", "tl.maximum(acc, v)", "acc", "3, 2, 1", "2, 2, 9, 7"),
    ("avgpool2", "F.avg_pool2d(x, 2)", "0.0", "acc + v", "acc / (K * K)", "2, 2, 0", "3, 2, 6, 7"),
    ("avgpool3_pad", "F.avg_pool2d(x, 3, 1, 1)", "0.0", "acc + v", "acc / (K * K)", "3, 1, 1", "1, 3, 7, 6"),
    ("lppool2", "F.lp_pool2d(x, 2, 2)", "0.0", "acc + v * v", "tl.sqrt(acc)", "2, 2, 0", "2, 3, 6, 6"),
]
PLANES = """
@triton.jit
def per_plane(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    acc = tl.full((BLOCK,), @NEUTRAL@, tl.float32)
    for s in range(0, size, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + plane * size + i, mask=i < size, other=@NEUTRAL@)
        acc = @COMBINE@
    tl.store(y_ptr + plane, @FINISH@)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        y = x.new_empty(N, C, 1, 1)
        per_plane[(N * C,)](x.contiguous(), y, H * W, BLOCK=64)
        return y
"""
# Ops that only move values: the source index of each output element.
MOVE = """
@triton.jit
def move(x_ptr, y_ptr, @SIZES@n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    @INDEX@
    v = tl.load(x_ptr + at, mask=@MASK@, other=@OTHER@)
    tl.store(y_ptr + i, v, mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        @SHAPE@
        y = torch.empty(@OUT@, dtype=x.dtype, device=x.device)
        move[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, @SIZES@y.numel(), BLOCK=128)
        return y
"""
IMAGE = "N, C, H, W = x.shape"
# name: (forward, inputs, sizes, index statements, mask, other, shape statement, output shape)
MOVES = {
    "upsample_nearest": ("F.interpolate(x, scale_factor=2)", "torch.randn(2, 3, 4, 5)", "H, W, ", "w, h, p = (i % (2 * W)) // 2, (i // (2 * W)) % (2 * H) // 2, i // (4 * H * W)\n    at = (p * H + h) * W + w", "live", "0.0", IMAGE, "(N, C, 2 * H, 2 * W)"),
    "pad_zero": ("F.pad(x, (1, 2, 3, 0))", "torch.randn(2, 2, 4, 5)", "H, W, ", "w, h, p = i % (W + 3) - 1, (i // (W + 3)) % (H + 3) - 3, i // ((W + 3) * (H + 3))\n    at = (p * H + h) * W + w", "live & (w >= 0) & (w < W) & (h >= 0)", "0.0", IMAGE, "(N, C, H + 3, W + 3)"),
    "pad_constant": ("F.pad(x, (2, 1), value=-1.5)", "torch.randn(5, 12)", "W, ", "w, r = i % (W + 3) - 2, i // (W + 3)\n    at = r * W + w", "live & (w >= 0) & (w < W)", "-1.5", "R, W = x.shape", "(R, W + 3)"),
    "pad_reflect": ("F.pad(x, (2, 2), mode='reflect')", "torch.randn(3, 2, 9)", "W, ", "w, r = i % (W + 4) - 2, i // (W + 4)\n    w = tl.abs(w)\n    w = tl.where(w >= W, 2 * W - 2 - w, w)\n    at = r * W + w", "live", "0.0", "N, C, W = x.shape", "(N, C, W + 4)"),
    "pixel_shuffle": ("F.pixel_shuffle(x, 2)", "torch.randn(2, 8, 3, 4)", "C, H, W, ", "w, h, c = i % (2 * W), (i // (2 * W)) % (2 * H), (i // (4 * H * W)) % (C // 4)\n    b = i // (C * H * W)\n    at = ((b * C + c * 4 + (h % 2) * 2 + w % 2) * H + h // 2) * W + w // 2", "live", "0.0", IMAGE, "(N, C // 4, 2 * H, 2 * W)"),
    "crop": ("x[:, :, 1:-1, 2:]", "torch.randn(2, 3, 6, 7)", "H, W, ", "w, h, p = i % (W - 2) + 2, (i // (W - 2)) % (H - 2) + 1, i // ((W - 2) * (H - 2))\n    at = (p * H + h) * W + w", "live", "0.0", IMAGE, "(N, C, H - 2, W - 2)"),
    "flip_width": ("torch.flip(x, (-1,))", "torch.randn(4, 3, 10)", "W, ", "at = (i // W) * W + (W - 1 - i % W)", "live", "0.0", "A, B, W = x.shape", "(A, B, W)"),
    "roll_rows": ("torch.roll(x, 2, 1)", "torch.randn(6, 13)", "W, ", "at = (i // W) * W + (i % W + W - 2) % W", "live", "0.0", "R, W = x.shape", "(R, W)"),
    "transpose": ("x.t().contiguous()", "torch.randn(14, 23)", "R, W, ", "at = (i % R) * W + i // R", "live", "0.0", "R, W = x.shape", "(W, R)"),
    "permute": ("x.permute(0, 2, 3, 1).contiguous()", "torch.randn(2, 3, 4, 5)", "C, H, W, ", "c, s, b = i % C, (i // C) % (H * W), i // (C * H * W)\n    at = (b * C + c) * H * W + s", "live", "0.0", IMAGE, "(N, H, W, C)"),
    "tile_repeat": ("x.repeat(2, 3)", "torch.randn(4, 7)", "R, W, ", "at = ((i // (3 * W)) % R) * W + i % W", "live", "0.0", "R, W = x.shape", "(2 * R, 3 * W)"),
    "repeat_interleave": ("torch.repeat_interleave(x, 3, dim=1)", "torch.randn(5, 9)", "W, ", "at = (i // (3 * W)) * W + (i % (3 * W)) // 3", "live", "0.0", "R, W = x.shape", "(R, 3 * W)"),
    "upper_triangle": ("torch.triu(x, 1)", "torch.randn(13, 16)", "W, ", "at = i", "live & (i % W > i // W)", "0.0", "R, W = x.shape", "(R, W)"),
    "step_slice": ("x[1::2, ::3].contiguous()", "torch.randn(9, 20)", "R, W, ", "q = (W + 2) // 3\n    at = (2 * (i // q) + 1) * W + 3 * (i % q)", "live", "0.0", "R, W = x.shape", "(R // 2, (W + 2) // 3)"),
}  # fmt: skip


def cases() -> Iterator[Made]:
    for name, conv, act, forward, shape in CONVS:
        source = task(forward, f"torch.randn({shape})", init=f"self.conv = {conv}")
        yield Made(f"sp_{name}", source, f"sp_{name}", "R4, R1", fill(CONV, ACT=act, CONV=conv))
    for name, sizes, shape in (("conv1d", "3, 4, 5, padding=2", "2, 3, 40"), ("conv1d_valid", "5, 3, 4", "3, 5, 21")):
        source = task("self.conv(x)", f"torch.randn({shape})", init=f"self.conv = nn.Conv1d({sizes})")
        yield Made(f"sp_{name}", source, f"sp_{name}", "R4, R1", fill(CONV1D, SHAPE=sizes))
    for name, forward, start, combine, finish, sizes, shape in POOLS:
        body = fill(POOL, START=start, COMBINE=combine, FINISH=finish, SIZES=sizes)
        yield Made(f"sp_{name}", task(forward, f"torch.randn({shape})"), f"sp_{name}", "plain", body)
    for name, forward, neutral, combine, finish in (
        ("global_avg", "F.adaptive_avg_pool2d(x, 1)", "0.0", "acc + v", "tl.sum(acc, 0) / size"),
        ("global_max", "F.adaptive_max_pool2d(x, 1)", "float('-inf')", "tl.maximum(acc, v)", "tl.max(acc, 0)"),
    ):
        body = fill(PLANES, NEUTRAL=neutral, COMBINE=combine, FINISH=finish)
        yield Made(f"sp_{name}", task(forward, "torch.randn(2, 3, 9, 11)"), f"sp_{name}", "R1", body)
    for name, (forward, inputs, sizes, index, mask, other, shape, out) in MOVES.items():
        body = fill(MOVE, SIZES=sizes, INDEX=index, MASK=mask, OTHER=other, SHAPE=shape, OUT=out)
        yield Made(f"mv_{name}", task(forward, inputs), f"mv_{name}", "plain", body)
