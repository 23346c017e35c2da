# task: one_element
# expect: pass|invalid_task
# id: R12, R33
# source: tiny tensors
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log_sq(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.log(v * v + 1.0), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        log_sq[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), B=16)
        return y
