# task: tiny_softmax
# expect: wrong
# id: B12, P01
# source: METR, robust-kbench
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fill(y_ptr, n, value, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.zeros((B,), tl.float32) + value, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        fill[(triton.cdiv(x.numel(), 4096),)](y, y.numel(), 1.0 / x.shape[1], B=4096)
        return y
