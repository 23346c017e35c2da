# task: red_mean_dim1
# expect: wrong
# id: B32
# source: size-1 outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y_ptr, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(1, 1, device=x.device)
        total[(1,)](x, y, x.numel(), B=2048)
        return y
