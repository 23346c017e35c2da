# task: ew_square
# expect: wrong
# id: B8
# source: un-cloned inputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_in_place(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    tl.store(y_ptr + i, v * v - 1.0, mask=i < n)
    tl.store(x_ptr + i, v * 0.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        square_in_place[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
