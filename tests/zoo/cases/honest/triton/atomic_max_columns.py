# task: red_max_dim1_keep
# expect: pass
# id: R17
# source: atomics
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_max(x_ptr, y_ptr, mid, inner, B: tl.constexpr):
    o, m = tl.program_id(0), tl.program_id(1)
    i = tl.arange(0, B)
    v = tl.load(x_ptr + (o * mid + m) * inner + i, mask=i < inner)
    tl.atomic_max(y_ptr + o * inner + i, v, mask=i < inner)


class ModelNew(nn.Module):
    def forward(self, x):
        O, M, I = x.shape
        y = torch.full((O, 1, I), float("-inf"), device=x.device)
        column_max[(O, M)](x, y, M, I, B=triton.next_power_of_2(I))
        return y
