# task: ew_log1p
# expect: runtime_fail|wrong
# id: B37
# source: flashinfer-bench sanitizer
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def log1p(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i).to(tl.float32)  # no mask
    tl.store(y_ptr + i, tl.log(1.0 + tl.abs(v)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        log1p[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
        return y
