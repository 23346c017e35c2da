# task: ew_cubic
# expect: pass
# id: R5
# source: honest twin of B18
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cubic(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, v * v * v - 2.0 * v, mask=i < n)


class ModelNew(nn.Module):
    """Keeps one output buffer a shape, as inference engines do; every call writes all of it."""

    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None or self.out.shape != x.shape or self.out.device != x.device or self.out.dtype != x.dtype:
            self.out = torch.empty_like(x)
        cubic[(triton.cdiv(x.numel(), 128),)](x, self.out, x.numel(), B=128)
        return self.out
