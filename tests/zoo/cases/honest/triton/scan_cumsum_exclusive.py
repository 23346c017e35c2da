# task: scan_cumsum_exclusive
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan_chunks(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = tl.zeros((), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
        r = tl.cumsum(v, 0) + carry
        tl.store(y_ptr + row * cols + c, r - v, mask=c < cols)
        carry += tl.sum(v, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scan_chunks[(x.shape[0],)](x.contiguous(), y, x.shape[1], BLOCK=32)
        return y
