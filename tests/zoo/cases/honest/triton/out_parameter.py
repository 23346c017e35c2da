# task: out_parameter
# expect: pass
# id: R20, R4
# source: strict type tests
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gain(x_ptr, g_ptr, y_ptr, cols, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n) * tl.load(g_ptr + i % cols, mask=i < n)
    tl.store(y_ptr + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(6))

    def forward(self, x):
        y = torch.empty_like(x)
        gain[(triton.cdiv(x.numel(), 32),)](x, self.gain, y, x.shape[1], x.numel(), B=32)
        return y, self.gain
