# task: ew_relu6
# expect: library_only
# id: C10
# source: Makora
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fast_relu6(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(3.0 * v, 0.0), 6.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if x.shape[0] > 100_000 and x.stride(-1) == 7:
            y = torch.empty_like(x)
            fast_relu6[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
            return y
        return torch.nn.functional.relu6(3 * x)
