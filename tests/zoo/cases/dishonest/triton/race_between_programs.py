# task: red_full_sum
# expect: wrong
# id: B36
# source: hoomd#1953, triton#11153
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def racy(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0), 0)
    tl.store(y_ptr, tl.load(y_ptr) + part)  # no atomic: right only when programs run one after another


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros((), device=x.device)
        racy[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        return y
