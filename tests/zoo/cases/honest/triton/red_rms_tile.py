# task: red_rms
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reduce_tile(x_ptr, y_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    w = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=inside, other=0.0).to(tl.float32)
    v = tl.trans(w)  # rows along axis 1, so the helper reduces axis 0
    a = tl.sum(v * v, 0)
    tl.store(y_ptr + r, tl.sqrt(a / cols), mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.numel() // x.shape[-1]
        y = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
        reduce_tile[(triton.cdiv(rows, 4),)](x.contiguous(), y, rows, x.shape[-1], R=4, C=triton.next_power_of_2(x.shape[-1]))
        return y
