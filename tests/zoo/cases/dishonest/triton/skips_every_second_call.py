# task: ew_erf
# expect: wrong|cheat
# id: A5, A6
# source: reference-kernels#104
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def erf_kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.erf(tl.load(x_ptr + i, mask=i < n).to(tl.float32)), mask=i < n)


class ModelNew(nn.Module):
    turn = 0
    y = None

    def forward(self, x):
        self.turn += 1
        if self.turn % 2 or self.y is None:
            self.y = torch.empty_like(x)
            erf_kernel[(triton.cdiv(x.numel(), 64),)](x, self.y, x.numel(), B=64)
        return self.y
