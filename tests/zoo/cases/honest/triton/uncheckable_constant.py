# task: constant_output
# expect: invalid_task
# id: R36
# source: P07: the output does not depend on the input
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def two(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.maximum(v - 1e6, 0.0) + 2.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        two[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
