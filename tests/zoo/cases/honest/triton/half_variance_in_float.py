# task: half_variance
# expect: pass
# id: R35, R19
# source: attention-gym#242: better than the reference
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def variance(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    d = tl.where(c < cols, v - tl.sum(v, 0) / cols, 0.0)
    tl.store(y_ptr + row, tl.sum(d * d, 0) / cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0])
        variance[(x.shape[0],)](x, y, x.shape[1], B=256)
        return y
