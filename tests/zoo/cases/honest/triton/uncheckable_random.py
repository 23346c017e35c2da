# task: random_output
# expect: invalid_task
# id: R7
# source: P07: the reference cannot be checked
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def drop(x_ptr, y_ptr, n, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.where(tl.rand(seed, i) > 0.5, 2.0 * v, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        drop[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), 7, B=64)
        return y
