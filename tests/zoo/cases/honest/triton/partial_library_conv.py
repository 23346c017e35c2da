# task: conv_bn_relu
# expect: pass
# id: plain, R4
# source: P06: one op own, rest library
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_relu(x_ptr, s_ptr, y_ptr, C, S, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0) * tl.load(s_ptr + (i // S) % C, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.maximum(v, 0.0), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)
        self.scale = nn.Parameter(torch.rand(5, 1, 1) + 0.5)

    def forward(self, x):
        z = self.conv(x).contiguous()
        scale_relu[(triton.cdiv(z.numel(), 128),)](z, self.scale, z, z.shape[1], z.shape[2] * z.shape[3], z.numel(), B=128)
        return z
