# task: ix_gather
# expect: pass
# id: R6
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gather_rows(x_ptr, index_ptr, y_ptr, cols, picks, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    column = tl.load(index_ptr + i, mask=ok, other=0)
    v = tl.load(x_ptr + (i // picks) * cols + column, mask=ok)
    tl.store(y_ptr + i, v, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, idx):
        y = torch.empty(idx.shape, dtype=x.dtype, device=x.device)
        gather_rows[(triton.cdiv(y.numel(), 64),)](x, idx, y, x.shape[1], idx.shape[1], y.numel(), BLOCK=64)
        return y
