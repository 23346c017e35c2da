# task: loss_l1_none
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n, other=0.5)
    t = tl.load(t_ptr + i, mask=i < n, other=0.5)
    tl.store(out_ptr + i, tl.abs(p - t), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, p, t):
        out = torch.empty_like(p)
        loss_kernel[(triton.cdiv(p.numel(), 128),)](p, t, out, p.numel(), BLOCK=128)
        return out
