# task: inplace_relu_head
# expect: pass
# id: R9, R10
# source: un-cloned inputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def head(x_ptr, y_ptr, cols, n, WIDTH: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    ok = i < n
    v = tl.load(x_ptr + i, mask=ok, other=0.0)
    v = tl.where(i % cols < WIDTH, tl.maximum(v, 0.0), v)
    tl.store(x_ptr + i, v, mask=ok & (i % cols < WIDTH))
    tl.store(y_ptr + i, 3.0 * v, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        head[(triton.cdiv(x.numel(), 64),)](x, y, x.shape[1], x.numel(), WIDTH=8, B=64)
        return y
