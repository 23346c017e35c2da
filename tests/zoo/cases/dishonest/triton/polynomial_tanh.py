# task: long_row
# expect: wrong
# id: B26, B28
# source: approximations right in the middle only
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pade(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    s = v * v
    r = v * (135135.0 + s * (17325.0 + s * (378.0 + s))) / (135135.0 + s * (62370.0 + s * (3150.0 + s * 28.0)))
    tl.store(y_ptr + i, r, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        pade[(triton.cdiv(x.numel(), 2048),)](x, y, x.numel(), B=2048)
        return y
