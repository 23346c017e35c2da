# task: mv_pad_zero
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def move(x_ptr, y_ptr, H, W, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    w, h, p = i % (W + 3) - 1, (i // (W + 3)) % (H + 3) - 3, i // ((W + 3) * (H + 3))
    at = (p * H + h) * W + w
    v = tl.load(x_ptr + at, mask=live & (w >= 0) & (w < W) & (h >= 0), other=0.0)
    tl.store(y_ptr + i, v, mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty((N, C, H + 3, W + 3), dtype=x.dtype, device=x.device)
        move[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, H, W, y.numel(), BLOCK=128)
        return y
