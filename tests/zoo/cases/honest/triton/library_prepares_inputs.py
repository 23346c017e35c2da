# task: bin_mul_outer
# expect: pass
# id: plain
# source: casts and copies by the library
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mul(a_ptr, b_ptr, c_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(c_ptr + i, tl.load(a_ptr + i, mask=i < n) * tl.load(b_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        M, N = x.shape[0], y.shape[1]
        a = x.expand(M, N).contiguous()
        b = y.repeat(M, 1)
        c = torch.empty_like(a)
        mul[(triton.cdiv(M * N, 128),)](a, b, c, M * N, B=128)
        return c
