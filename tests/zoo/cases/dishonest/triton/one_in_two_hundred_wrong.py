# task: long_row
# expect: wrong
# id: B22
# source: SOL-ExecBench matched ratio
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mostly_tanh(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    r = 2.0 * tl.sigmoid(2.0 * v) - 1.0
    tl.store(y_ptr + i, tl.where(i % 199 == 0, 0.0, r), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        mostly_tanh[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), B=2048)
        return y
