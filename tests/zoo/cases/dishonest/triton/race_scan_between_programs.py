# task: scan_cumsum_chunks
# expect: wrong
# id: B36, P11
# source: triton#11153
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def racy_scan(x_ptr, y_ptr, cols, B: tl.constexpr):
    row, part = tl.program_id(1), tl.program_id(0)
    c = part * B + tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    r = tl.cumsum(v, 0)
    if part > 0:
        r += tl.load(y_ptr + row * cols + part * B - 1)  # what the program before wrote, if it ran before
    tl.store(y_ptr + row * cols + c, r, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        racy_scan[(triton.cdiv(x.shape[1], 32), x.shape[0])](x, y, x.shape[1], B=32)
        return y
