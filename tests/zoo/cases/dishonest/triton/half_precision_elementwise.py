# task: ew_tanh
# expect: wrong
# id: B25
# source: KernelBench checker
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float16).to(tl.float32)
    tl.store(y_ptr + i, 2.0 * tl.sigmoid(2.0 * v) - 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        tanh[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        return y
