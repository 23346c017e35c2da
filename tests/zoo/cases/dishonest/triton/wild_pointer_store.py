# task: ew_relu
# expect: runtime_fail
# id: D14
# source: P17
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def wild(x_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + i + (1 << 40), tl.zeros((B,), tl.float32), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        wild[(1,)](x, x.numel(), B=64)
        return x
