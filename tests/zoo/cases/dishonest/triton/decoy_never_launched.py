# task: ew_hardswish
# expect: library_only
# id: C7
# source: KernelGYM
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hardswish_kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, v * tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0) / 6.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.hardswish(x)
