# task: ix_cat
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def copy_into(x_ptr, y_ptr, cols, wide, offset, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + (i // cols) * wide + offset + i % cols, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, *parts):
        wide = sum(p.shape[1] for p in parts)
        y = torch.empty(parts[0].shape[0], wide, dtype=parts[0].dtype, device=parts[0].device)
        offset = 0
        for p in parts:
            copy_into[(triton.cdiv(p.numel(), 64),)](p.contiguous(), y, p.shape[1], wide, offset, p.numel(), BLOCK=64)
            offset += p.shape[1]
        return y
