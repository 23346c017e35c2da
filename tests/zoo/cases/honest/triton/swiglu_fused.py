# task: swiglu
# expect: pass
# id: R4, R1
# source: fused blocks
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swiglu_row(x_ptr, g_ptr, u_ptr, d_ptr, y_ptr, H: tl.constexpr, D: tl.constexpr, BH: tl.constexpr):
    row = tl.program_id(0)
    d, h = tl.arange(0, D), tl.arange(0, BH)
    x = tl.load(x_ptr + row * D + d)
    at = h[:, None] * D + d[None, :]
    g = tl.sum(tl.load(g_ptr + at, mask=h[:, None] < H, other=0.0) * x[None, :], 1)
    u = tl.sum(tl.load(u_ptr + at, mask=h[:, None] < H, other=0.0) * x[None, :], 1)
    z = g * tl.sigmoid(g) * u
    w = tl.load(d_ptr + d[None, :] * H + h[:, None], mask=h[:, None] < H, other=0.0)
    tl.store(y_ptr + row * D + d, tl.sum(w * z[:, None], 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 24, bias=False)
        self.up = nn.Linear(16, 24, bias=False)
        self.down = nn.Linear(24, 16, bias=False)

    def forward(self, x):
        y = torch.empty_like(x)
        swiglu_row[(x.shape[0],)](x, self.gate.weight, self.up.weight, self.down.weight, y, H=24, D=16, BH=32)
        return y
