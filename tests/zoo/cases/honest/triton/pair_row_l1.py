# task: pair_row_l1
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_pair(a_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    a = tl.load(a_ptr + row * cols + c, mask=c < cols, other=0.0)
    b = tl.load(b_ptr + row * cols + c, mask=c < cols, other=0.0)
    r = tl.sum(tl.abs(a - b), 0) / cols
    tl.store(out_ptr + row, r)


class ModelNew(nn.Module):
    def forward(self, a, b):
        out = a.new_empty(a.shape[0])
        row_pair[(a.shape[0],)](a, b, out, a.shape[1], BLOCK=triton.next_power_of_2(a.shape[1]))
        return out
