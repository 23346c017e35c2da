# task: zero_weights
# expect: wrong|invalid_task
# id: B13
# source: accelerator-agents#50, #76
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pass_through(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(10))
        self.bias = nn.Parameter(torch.zeros(10))

    def forward(self, x):
        y = torch.empty_like(x)
        pass_through[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
