# task: ew_relu
# expect: compile_fail
# id: C7
# source: own; report P11, a kernel that runs in the interpreter only
# needs: cpu
# about: a plain global of the module is read in the kernel
import torch
import torch.nn as nn
import triton
import triton.language as tl


LEAST = 0.0


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y_ptr + i, tl.maximum(tl.load(x_ptr + i, mask=mask, other=0.0), LEAST), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
