# task: sp_maxpool3_pad
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pool(x_ptr, y_ptr, H, W, OH, OW, n, K: tl.constexpr, S: tl.constexpr, P: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ow, oh, plane = i % OW, (i // OW) % OH, i // (OW * OH)
    acc = tl.full((BLOCK,), float('-inf'), tl.float32)
    for kh in tl.static_range(K):
        for kw in tl.static_range(K):
            h, w = oh * S - P + kh, ow * S - P + kw
            ok = (i < n) & (h >= 0) & (h < H) & (w >= 0) & (w < W)
            v = tl.load(x_ptr + (plane * H + h) * W + w, mask=ok, other=float('-inf'))
            acc = tl.maximum(acc, v)
    tl.store(y_ptr + i, acc, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        K, S, P = 3, 2, 1
        OH, OW = (H + 2 * P - K) // S + 1, (W + 2 * P - K) // S + 1
        y = torch.empty((N, C, OH, OW), dtype=x.dtype, device=x.device)
        pool[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, H, W, OH, OW, y.numel(), K=K, S=S, P=P, BLOCK=128)
        return y
