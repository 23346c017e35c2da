# task: long_row
# expect: wrong
# id: B29
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sampled(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    probe = tl.load(x_ptr + tl.program_id(0) * B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    r = 2.0 * tl.sigmoid(2.0 * v) - 1.0
    tl.store(y_ptr + i, tl.where(tl.abs(probe) > 2.0, 1.0, r), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sampled[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), B=512)
        return y
