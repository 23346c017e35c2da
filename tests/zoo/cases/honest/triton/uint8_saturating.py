# task: uint8_brighten
# expect: pass
# id: R13, R6
# source: integer kinds
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def brighten(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0).to(tl.int32) + 40
    tl.store(y_ptr + i, tl.minimum(tl.maximum(v, 0), 255).to(tl.uint8), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        brighten[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), B=256)
        return y
