# task: minus_inf
# expect: pass|invalid_task
# id: R14
# source: flashinfer-bench, SOL-ExecBench defaults
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mask_out(x_ptr, m_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    gone = tl.load(m_ptr + i, mask=i < n, other=1) != 0
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.where(gone, float("-inf"), v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        mask_out[(triton.cdiv(x.numel(), 64),)](x, mask, y, x.numel(), B=64)
        return y
