# task: mv_permute
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def move(x_ptr, y_ptr, C, H, W, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    c, s, b = i % C, (i // C) % (H * W), i // (C * H * W)
    at = (b * C + c) * H * W + s
    v = tl.load(x_ptr + at, mask=live, other=0.0)
    tl.store(y_ptr + i, v, mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty((N, H, W, C), dtype=x.dtype, device=x.device)
        move[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, C, H, W, y.numel(), BLOCK=128)
        return y
