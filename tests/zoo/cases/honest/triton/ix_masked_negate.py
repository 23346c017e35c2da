# task: ix_masked_negate
# expect: pass
# id: R13
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.load(m_ptr + i, mask=i < n, other=0)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, tl.where(keep != 0, -v, v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked[(triton.cdiv(x.numel(), 128),)](x, mask, y, x.numel(), BLOCK=128)
        return y
