# task: out_tuple
# expect: pass
# id: R11
# source: KernelBench single-tensor rule
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sum(x, y, cols, B: tl.constexpr):
    c = tl.arange(0, B)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=0.0), 0))


@triton.jit
def row_max(x, y, cols, B: tl.constexpr):
    c = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=float("-inf"))
    tl.store(y + tl.program_id(0), tl.max(v, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        out = []
        for kernel in (row_sum, row_max):
            y = x.new_empty(x.shape[0])
            kernel[(x.shape[0],)](x, y, x.shape[1], B=32)
            out.append(y)
        return tuple(out)
