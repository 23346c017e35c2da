# task: scan_cumsum
# expect: runtime_fail|wrong
# id: B37
# source: off by one at the border
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c - 1, mask=c < cols, other=0.0)
    tl.store(y_ptr + row * cols + c, tl.cumsum(v, 0), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scan[(x.shape[0],)](x, y, x.shape[1], B=64)
        return y
