# task: channels_last_in
# expect: pass
# id: R18
# source: layout of outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu_half(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, v * tl.sigmoid(v) + 0.5, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)  # the same strides, so memory order is the same
        silu_half[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
