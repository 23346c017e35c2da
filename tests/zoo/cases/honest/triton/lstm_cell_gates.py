# task: lstm_cell
# expect: pass
# id: R11, R4
# source: P06: products by the library, gates own
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gates(z_ptr, c_ptr, h_out, c_out, H, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    ok = i < n
    row, j = i // H, i % H
    z = z_ptr + row * 4 * H + j
    a = tl.sigmoid(tl.load(z, mask=ok, other=0.0))
    f = tl.sigmoid(tl.load(z + H, mask=ok, other=0.0))
    g = 2.0 * tl.sigmoid(2.0 * tl.load(z + 2 * H, mask=ok, other=0.0)) - 1.0
    o = tl.sigmoid(tl.load(z + 3 * H, mask=ok, other=0.0))
    c = f * tl.load(c_ptr + i, mask=ok, other=0.0) + a * g
    tl.store(c_out + i, c, mask=ok)
    tl.store(h_out + i, o * (2.0 * tl.sigmoid(2.0 * c) - 1.0), mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(10, 12)

    def forward(self, x, h, c):
        k = self.cell
        z = torch.addmm(k.bias_ih + k.bias_hh, x, k.weight_ih.t()) + h @ k.weight_hh.t()
        h1, c1 = torch.empty_like(h), torch.empty_like(c)
        gates[(triton.cdiv(h.numel(), 32),)](z.contiguous(), c.contiguous(), h1, c1, h.shape[1], h.numel(), B=32)
        return h1, c1
