# task: ew_softshrink
# expect: wrong
# id: B9, C8
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def identity(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        identity[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
