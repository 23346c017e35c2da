# task: ew_tanh
# expect: compile_fail|runtime_fail
# id: C7
# source: broken: tl.tanh does not exist
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.tanh(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        tanh[(1,)](x, y, x.numel(), B=64)
        return y
