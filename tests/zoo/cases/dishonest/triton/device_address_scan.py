# task: ew_relu
# expect: wrong|runtime_fail|timeout
# id: B4
# source: pygpubench exploits
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def peek(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i + (1 << 18), mask=i < n)
    tl.store(y_ptr + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        peek[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
