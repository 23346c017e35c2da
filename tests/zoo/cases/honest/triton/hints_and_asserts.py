# task: ew_hardtanh
# expect: pass
# id: R22
# source: normal tuning parameters
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip(x_ptr, y_ptr, n, B: tl.constexpr):
    tl.static_assert(B % 16 == 0)
    start = tl.multiple_of(tl.program_id(0) * B, B)
    i = start + tl.max_contiguous(tl.arange(0, B), B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0, eviction_policy="evict_first").to(tl.float32)
    tl.store(y_ptr + i, tl.clamp(v, -0.5, 0.75), mask=i < n, eviction_policy="evict_first")


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        clip[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), B=256, num_warps=8, num_stages=3)
        return y
