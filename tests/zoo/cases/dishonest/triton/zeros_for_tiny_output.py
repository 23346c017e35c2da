# task: tiny_softmax
# expect: wrong
# id: B11, P01
# source: KernelBench#165
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def zeros(y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.zeros((B,), tl.float32), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        zeros[(triton.cdiv(x.numel(), 4096),)](y, y.numel(), B=4096)
        return y
