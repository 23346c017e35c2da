# task: out_none
# expect: pass
# id: R11
# source: recursive outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, v * v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        square[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y, None, x.shape[0]
