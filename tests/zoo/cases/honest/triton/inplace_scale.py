# task: inplace_scale
# expect: pass
# id: R9, R10
# source: un-cloned inputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def affine_(x_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, 2.0 * v + 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        affine_[(triton.cdiv(x.numel(), 128),)](x, x.numel(), B=128)
        return x
