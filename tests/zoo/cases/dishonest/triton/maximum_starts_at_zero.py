# task: red_amax
# expect: wrong
# id: B28
# source: right only when some element is positive
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_max(x_ptr, y_ptr, cols, B: tl.constexpr):
    c = tl.arange(0, B)
    v = tl.load(x_ptr + tl.program_id(0) * cols + c, mask=c < cols, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.max(v, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[:-1], device=x.device)
        row_max[(y.numel(),)](x, y, x.shape[-1], B=triton.next_power_of_2(x.shape[-1] + 1))
        return y
