# task: tril_scores
# expect: pass
# id: R14, R1
# source: zeros above the diagonal
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def causal(s_ptr, y_ptr, T, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    seen = c <= row % T
    v = tl.load(s_ptr + row * T + c, mask=seen, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y_ptr + row * T + c, e / tl.sum(e, 0), mask=c < T)


class ModelNew(nn.Module):
    def forward(self, s):
        y = torch.empty_like(s)
        causal[(s.shape[0] * s.shape[1],)](s.contiguous(), y, s.shape[-1], B=16)
        return y
