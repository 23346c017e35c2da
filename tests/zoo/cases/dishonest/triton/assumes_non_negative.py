# task: abs_sum
# expect: wrong
# id: B28
# source: kernelguard structure rule
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def plain_sum(x_ptr, y_ptr, cols, B: tl.constexpr):
    c = tl.arange(0, B)
    v = tl.load(x_ptr + tl.program_id(0) * cols + c, mask=c < cols, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(v, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0])
        plain_sum[(x.shape[0],)](x, y, x.shape[1], B=64)
        return y
