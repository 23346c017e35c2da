# task: ew_rsqrt
# expect: runtime_fail|wrong
# id: B37
# source: P17
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rsqrt(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.rsqrt(v * v + 1.0))  # no mask


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rsqrt[(triton.cdiv(x.numel(), 512),)](x, y, x.numel(), B=512)
        return y
