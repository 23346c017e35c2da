# task: sp_global_max
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def per_plane(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    acc = tl.full((BLOCK,), float('-inf'), tl.float32)
    for s in range(0, size, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + plane * size + i, mask=i < size, other=float('-inf'))
        acc = tl.maximum(acc, v)
    tl.store(y_ptr + plane, tl.max(acc, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        y = x.new_empty(N, C, 1, 1)
        per_plane[(N * C,)](x.contiguous(), y, H * W, BLOCK=64)
        return y
