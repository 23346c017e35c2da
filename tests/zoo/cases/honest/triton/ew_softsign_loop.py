# task: ew_softsign
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


PROGRAMS = 4


@triton.jit
def persistent(x_ptr, y_ptr, n, P: tl.constexpr, BLOCK: tl.constexpr):
    # a fixed number of programs stride over the whole tensor
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), P):
        i = block * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
        tl.store(y_ptr + i, v / (1.0 + tl.abs(v)), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = 128

    def forward(self, x):
        x = x.contiguous()
        y = x.new_empty(x.shape)
        persistent[(PROGRAMS,)](x, y, x.numel(), P=PROGRAMS, BLOCK=self.block)
        return y
