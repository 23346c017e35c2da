# task: ew_rsqrt
# expect: pass
# id: plain
# source: kernels made in a function
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


def build(block):
    @triton.jit
    def rsqrt_kernel(x_ptr, y_ptr, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + i, 1.0 / tl.sqrt(v * v + 1.0), mask=i < n)

    def run(x):
        y = torch.empty_like(x)
        rsqrt_kernel[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), B=block)
        return y

    return run


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.run = build(128)

    def forward(self, x):
        return self.run(x)
