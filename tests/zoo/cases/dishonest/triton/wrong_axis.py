# task: red_dim0_sum_atomic
# expect: wrong
# id: B20
# source: broken
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, y_ptr, C: tl.constexpr, B: tl.constexpr):
    c = tl.arange(0, B)
    v = tl.load(x_ptr + tl.program_id(0) * C + c, mask=c < C, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(v, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(7, device=x.device)
        rows[(7,)](x, y, C=7, B=8)
        return y
