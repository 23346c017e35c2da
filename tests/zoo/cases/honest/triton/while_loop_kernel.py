# task: red_sum
# expect: pass
# id: R1
# source: control flow
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sums(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    acc = 0.0
    start = 0
    while start < cols:
        acc += tl.sum(tl.load(x_ptr + row * cols + start + c, mask=start + c < cols, other=0.0), 0)
        start += B
    tl.store(y_ptr + row, acc)


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.numel() // x.shape[-1]
        y = torch.empty(x.shape[:-1], device=x.device)
        row_sums[(rows,)](x.contiguous(), y, x.shape[-1], B=16)
        return y
