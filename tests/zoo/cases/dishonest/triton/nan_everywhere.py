# task: ew_relu
# expect: wrong
# id: B7, B34
# source: pygpubench exploits, AgentKernelArena#113
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def poison(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, v * float("nan"), mask=i < n)
    tl.store(y_ptr + i, v * float("nan"), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        poison[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
