# task: small_outputs
# expect: wrong
# id: B23, B11
# source: flashinfer-bench either-or tolerance
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def small(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, 0.0009 * tl.sin(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        small[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        return y
