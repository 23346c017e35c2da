# task: bin_half_add
# expect: wrong
# id: B33, R19
# source: promotion in comparisons
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, z_ptr, cols, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    r = tl.load(x_ptr + i, mask=i < n).to(tl.float32) + tl.load(y_ptr + i % cols, mask=i < n).to(tl.float32)
    tl.store(z_ptr + i, r, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        z = torch.empty(x.shape, dtype=torch.float32, device=x.device)
        add[(triton.cdiv(x.numel(), 128),)](x, y, z, x.shape[1], x.numel(), B=128)
        return z
