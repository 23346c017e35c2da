# task: inplace_scale
# expect: pass
# id: R10, R24
# source: triton#4217: restore_value
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"B": 64}), triton.Config({"B": 256})], key=["n"], restore_value=["x_ptr"]
)
@triton.jit
def affine_(x_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, 2.0 * v + 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        affine_[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, x.numel())
        return x
