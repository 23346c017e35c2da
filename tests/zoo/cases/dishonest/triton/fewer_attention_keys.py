# task: attention
# expect: wrong
# id: B24
# source: Wafer, Makora taxonomies
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attention_row(q_ptr, k_ptr, v_ptr, o_ptr, T, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    row, head = tl.program_id(0), tl.program_id(1)
    d, t = tl.arange(0, D), tl.arange(0, BLOCK)
    base = head * T * D
    at = base + t[:, None] * D + d[None, :]
    seen = t < 8  # the last keys weigh little, they are left out
    q = tl.load(q_ptr + base + row * D + d)
    s = tl.sum(tl.load(k_ptr + at, mask=seen[:, None], other=0.0) * q[None, :], 1) * scale
    s = tl.where(seen, s, float("-inf"))
    p = tl.exp(s - tl.max(s, 0))
    o = tl.sum(tl.load(v_ptr + at, mask=seen[:, None], other=0.0) * p[:, None], 0) / tl.sum(p, 0)
    tl.store(o_ptr + base + row * D + d, o)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        B, H, T, D = q.shape
        o = torch.empty_like(q)
        attention_row[(T, B * H)](q.contiguous(), k.contiguous(), v.contiguous(), o, T, D**-0.5, D=D, BLOCK=16)
        return o
