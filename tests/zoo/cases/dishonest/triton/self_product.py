# task: two_inputs_same_law
# expect: wrong
# id: B10
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def self_product(a_ptr, c_ptr, N: tl.constexpr):
    m = tl.arange(0, N)
    a = tl.load(a_ptr + m[:, None] * N + m[None, :])
    tl.store(c_ptr + m[:, None] * N + m[None, :], tl.dot(a, a, input_precision="ieee"))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        self_product[(1,)](a, c, N=16)
        return c
