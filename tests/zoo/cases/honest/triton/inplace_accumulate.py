# task: inplace_accumulate
# expect: pass
# id: R9, R10
# source: un-cloned inputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def accumulate(t_ptr, x_ptr, s_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    ok = c < cols
    t = tl.load(t_ptr + row * cols + c, mask=ok, other=0.0) + tl.abs(tl.load(x_ptr + row * cols + c, mask=ok, other=0.0))
    tl.store(t_ptr + row * cols + c, t, mask=ok)
    tl.store(s_ptr + row, tl.sum(t, 0))


class ModelNew(nn.Module):
    def forward(self, total, x):
        s = x.new_empty(x.shape[0])
        accumulate[(x.shape[0],)](total, x, s, x.shape[1], B=32)
        return s
