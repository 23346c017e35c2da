# task: empty_output
# expect: invalid_task
# id: R12
# source: P07: nothing to compare
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=i < n), 0.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        if x.numel():
            relu[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
