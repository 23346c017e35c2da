# task: ew_tanhshrink
# expect: wrong
# id: B20, B21
# source: KernelBench#148, kernelguard truncation rule
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanhshrink(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x_ptr + i).to(tl.float32)
    tl.store(y_ptr + i, v - (2.0 * tl.sigmoid(2.0 * v) - 1.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        tanhshrink[(1,)](x, y, B=64)
        return y
