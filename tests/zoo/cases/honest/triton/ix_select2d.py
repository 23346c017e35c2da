# task: ix_select2d
# expect: pass
# id: R6
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lookup(table_ptr, index_ptr, y_ptr, dim, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    row = tl.load(index_ptr + i)
    v = tl.load(table_ptr + row * dim + d, mask=d < dim)
    tl.store(y_ptr + i * dim + d, v, mask=d < dim)


class ModelNew(nn.Module):
    def forward(self, x, idx):
        table = x.contiguous()
        dim = table.shape[1]
        y = torch.empty((*idx.shape, dim), dtype=table.dtype, device=table.device)
        lookup[(idx.numel(),)](table, idx.contiguous(), y, dim, BLOCK=triton.next_power_of_2(dim))
        return y
