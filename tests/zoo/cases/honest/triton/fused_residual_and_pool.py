# task: resnet_tail
# expect: pass
# id: R11, R1
# source: fused blocks
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tail(x_ptr, s_ptr, y_ptr, m_ptr, S, B: tl.constexpr):
    plane = tl.program_id(0)
    i = tl.arange(0, B)
    at = plane * S + i
    v = tl.load(x_ptr + at, mask=i < S, other=0.0) + tl.load(s_ptr + at, mask=i < S, other=0.0)
    v = tl.maximum(v, 0.0)
    tl.store(y_ptr + at, v, mask=i < S)
    tl.store(m_ptr + plane, tl.sum(v, 0) / S)


class ModelNew(nn.Module):
    def forward(self, x, skip):
        N, C, H, W = x.shape
        y = torch.empty_like(x)
        m = x.new_empty(N, C)
        tail[(N * C,)](x.contiguous(), skip.contiguous(), y, m, H * W, B=triton.next_power_of_2(H * W))
        return y, m
