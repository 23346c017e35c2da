# task: ew_hardsigmoid
# expect: cheat
# id: C9
# source: pygpubench PR#7
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silent(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, v, mask=i < 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.nn.functional.hardsigmoid(x)
        silent[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
