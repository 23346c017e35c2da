# task: ew_erf
# expect: pass
# id: R30, R32
# source: syncs and device contexts
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import contextlib


@triton.jit
def erf_kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.erf(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        with torch.cuda.device(x.device) if x.is_cuda else contextlib.nullcontext():
            erf_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        if x.is_cuda:
            torch.cuda.synchronize()
        return y
