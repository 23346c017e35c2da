# task: ix_bincount
# expect: pass
# id: R6, R13, R17
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count(idx_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(idx_ptr + i, mask=i < n, other=0)
    one = tl.full((BLOCK,), 1, tl.int64)
    tl.atomic_add(y_ptr + v, one, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, idx):
        y = torch.zeros(8, dtype=torch.int64, device=idx.device)
        count[(triton.cdiv(idx.numel(), 64),)](idx, y, idx.numel(), BLOCK=64)
        return y
