# task: double_norm
# expect: pass
# id: R1, R35
# source: scaled norm
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit_scaled(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    big = tl.max(tl.abs(v), 0)
    s = v / big
    tl.store(y_ptr + row * cols + c, s / tl.sqrt(tl.sum(s * s, 0)), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        unit_scaled[(x.shape[0],)](x, y, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
        return y
