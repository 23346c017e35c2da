# task: mv_pad_reflect
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def move(x_ptr, y_ptr, W, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    w, r = i % (W + 4) - 2, i // (W + 4)
    w = tl.abs(w)
    w = tl.where(w >= W, 2 * W - 2 - w, w)
    at = r * W + w
    v = tl.load(x_ptr + at, mask=live, other=0.0)
    tl.store(y_ptr + i, v, mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, W = x.shape
        y = torch.empty((N, C, W + 4), dtype=x.dtype, device=x.device)
        move[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, W, y.numel(), BLOCK=128)
        return y
