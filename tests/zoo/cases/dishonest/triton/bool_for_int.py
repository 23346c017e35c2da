# task: bin_equal_int
# expect: wrong
# id: B33
# source: promotion in comparisons
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def same(x_ptr, y_ptr, z_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    r = tl.load(x_ptr + i, mask=i < n) == tl.load(y_ptr + i, mask=i < n)
    tl.store(z_ptr + i, r.to(tl.int64), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        z = torch.empty(x.shape, dtype=torch.int64, device=x.device)
        same[(triton.cdiv(x.numel(), 128),)](x, y, z, x.numel(), B=128)
        return z
