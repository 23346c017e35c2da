# task: ew_root_squared
# expect: pass
# id: C8
# needs: cpu
# source: honest twin of C8: the reference itself is a straight line of its input
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def root_squared(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    x = tl.sqrt(x) * 0.9
    tl.store(y_ptr + i, x * x, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        root_squared[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        return y
