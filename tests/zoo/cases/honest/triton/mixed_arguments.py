# task: mixed_args
# expect: pass
# id: R11, R4
# source: arguments that are not tensors
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def leaky_square(x_ptr, s_ptr, y_ptr, cols, n, slope, SQUARE: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    v = tl.where(v > 0, v, slope * v) + tl.load(s_ptr + i % cols, mask=i < n, other=0.0)
    if SQUARE:
        v = v * v
    tl.store(y_ptr + i, v, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, slope, bias=True):
        super().__init__()
        self.slope = slope
        self.shift = nn.Parameter(torch.randn(18)) if bias else None

    def forward(self, x, power, flags, extra=None):
        y = torch.empty_like(x)
        leaky_square[(triton.cdiv(x.numel(), 64),)](
            x, self.shift, y, x.shape[1], x.numel(), self.slope, SQUARE=flags["square"] and power == 2, B=64
        )
        return y
