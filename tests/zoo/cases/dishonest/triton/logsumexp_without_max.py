# task: logsumexp_keep
# expect: wrong
# id: B27
# source: Wafer field guide
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def naive(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf"))
    tl.store(y_ptr + row, tl.log(tl.sum(tl.exp(v), 0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0], 1)
        naive[(x.shape[0],)](x, y, x.shape[1], B=32)
        return y
