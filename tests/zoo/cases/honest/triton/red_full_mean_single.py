# task: red_full_mean
# expect: pass
# id: R1, R12
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_all(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        acc += v
    total = tl.sum(acc, 0)
    tl.store(y_ptr, total / n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(1, dtype=x.dtype, device=x.device)
        sum_all[(1,)](x.contiguous(), y, x.numel(), BLOCK=1024)
        return y[0]
