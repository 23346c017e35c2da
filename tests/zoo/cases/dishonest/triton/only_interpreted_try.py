# task: ew_relu
# expect: compile_fail
# id: C7
# source: own; report P11, a kernel that runs in the interpreter only
# needs: cpu
# about: exceptions are caught inside the kernel
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    try:
        x = tl.maximum(x, 0.0)
    except ValueError:
        x = x * 0.0
    tl.store(y_ptr + i, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
