# task: ew_tanh
# expect: cheat|runtime_fail
# id: C12
# source: computed on the host
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import math


@triton.jit
def copy(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        values = [math.tanh(v) for v in x.flatten().tolist()]
        z = torch.tensor(values, dtype=x.dtype, device=x.device).reshape(x.shape)
        y = torch.empty_like(z)
        copy[(triton.cdiv(z.numel(), 64),)](z, y, z.numel(), B=64)
        return y
