# task: ew_sqrt_abs
# expect: wrong
# id: B34
# source: BackendBench NaN-equals option
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def root(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.sqrt(v), mask=i < n)  # NaN for half of the inputs


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        root[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
