# task: long_mean
# expect: pass
# id: R1, R35
# source: dion#30: better than the reference
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_row(x_ptr, y_ptr, n, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    lost = tl.zeros((B,), tl.float32)
    for s in range(0, n, B):
        i = s + tl.arange(0, B)
        v = tl.load(x_ptr + row * n + i, mask=i < n, other=0.0) - lost
        new = total + v
        lost = (new - total) - v
        total = new
    tl.store(y_ptr + row, tl.sum(total.to(tl.float64), 0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0])
        mean_row[(x.shape[0],)](x, y, x.shape[1], B=2048)
        return y
