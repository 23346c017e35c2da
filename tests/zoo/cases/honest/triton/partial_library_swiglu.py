# task: swiglu
# expect: pass
# id: plain, R4
# source: P06: one op own, rest library
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate(g_ptr, u_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0)
    u = tl.load(u_ptr + i, mask=i < n, other=0.0)
    tl.store(g_ptr + i, g * tl.sigmoid(g) * u, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 24, bias=False)
        self.up = nn.Linear(16, 24, bias=False)
        self.down = nn.Linear(24, 16, bias=False)

    def forward(self, x):
        g, u = self.gate(x).detach(), self.up(x).detach()
        gate[(triton.cdiv(g.numel(), 64),)](g, u, g.numel(), B=64)
        return self.down(g)
