# task: red_min_dim0
# expect: wrong
# id: B28
# source: right only when some element is negative
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def down(x_ptr, y_ptr, mid, inner, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for m in range(mid):
        acc = tl.minimum(acc, tl.load(x_ptr + m * inner + i, mask=i < inner, other=0.0))
    tl.store(y_ptr + i, acc, mask=i < inner)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[1:], device=x.device)
        down[(triton.cdiv(y.numel(), 32),)](x, y, x.shape[0], y.numel(), B=32)
        return y
