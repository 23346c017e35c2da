# task: bn_train
# expect: wrong
# id: B39, R8
# source: state is part of the answer
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bn_channel(x_ptr, y_ptr, w_ptr, b_ptr, N, C, S, eps, B: tl.constexpr):
    c = tl.program_id(0)
    i = tl.arange(0, B)
    n = N * S
    at = (i // S) * C * S + c * S + i % S
    v = tl.load(x_ptr + at, mask=i < n, other=0.0)
    d = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
    y = d * tl.rsqrt(tl.sum(d * d, 0) / n + eps) * tl.load(w_ptr + c) + tl.load(b_ptr + c)
    tl.store(y_ptr + at, y, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        bn_channel[(C,)](x, y, self.bn.weight, self.bn.bias, N, C, H * W, self.bn.eps, B=128)
        return y
