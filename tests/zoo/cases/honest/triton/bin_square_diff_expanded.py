# task: bin_square_diff
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def pointwise2(lhs, rhs, res, size, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(lhs + i, mask=i < size)
    b = tl.load(rhs + i, mask=i < size)
    tl.store(res + i, (a - b) * (a - b), mask=i < size)


class ModelNew(nn.Module):
    def forward(self, x, y):
        full = torch.broadcast_shapes(x.shape, y.shape)
        x, y = x.expand(full).contiguous(), y.expand(full).contiguous()
        z = torch.empty(full, dtype=x.dtype, device=x.device)
        pointwise2[(triton.cdiv(z.numel(), 128),)](x, y, z, z.numel(), B=128)
        return z
