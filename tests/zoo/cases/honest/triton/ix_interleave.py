# task: ix_stack
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def interleave(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    both = tl.interleave(tl.load(a_ptr + i, mask=i < n), tl.load(b_ptr + i, mask=i < n))
    j = tl.program_id(0) * 2 * BLOCK + tl.arange(0, 2 * BLOCK)
    tl.store(y_ptr + j, both, mask=j < 2 * n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(*a.shape, 2, device=a.device)
        interleave[(triton.cdiv(a.numel(), 32),)](a, b, y, a.numel(), BLOCK=32)
        return y
