# task: softmax_block
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
    e = tl.exp(tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf")))
    tl.store(y_ptr + row * cols + c, e / tl.sum(e, 0), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        naive[(x.numel() // x.shape[-1],)](x, y, x.shape[-1], B=32)
        return y
