# task: ix_sort
# expect: pass
# id: R15
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sort_rows(x_ptr, y_ptr, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    v = tl.load(x_ptr + row * COLS + c)
    tl.store(y_ptr + row * COLS + c, tl.sort(v, descending=False))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sort_rows[(x.shape[0],)](x, y, COLS=x.shape[1])
        return y
