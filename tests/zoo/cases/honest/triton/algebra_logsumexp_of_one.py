# task: lse_one
# expect: pass
# id: R36
# source: Makora: right algebra looks like a hack
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, cols, B: tl.constexpr):
    c = tl.arange(0, B)
    v = tl.load(x_ptr + tl.program_id(0) * cols + c, mask=c < cols, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(v, 0))  # the log-sum-exp of one number is that number


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], 1, device=x.device)
        row_sum[(x.shape[0],)](x, y, x.shape[1], B=64)
        return y
