# task: qkv
# expect: pass
# id: R5, R11
# source: packed parameters
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def packed_rows(x_ptr, w_ptr, b_ptr, y_ptr, K: tl.constexpr, N: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, K)
    n = tl.arange(0, BN)
    x = tl.load(x_ptr + row * K + k)
    w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=n[:, None] < N, other=0.0)
    y = tl.sum(w * x[None, :], 1) + tl.load(b_ptr + n, mask=n < N, other=0.0)
    tl.store(y_ptr + row * N + n, y, mask=n < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 8)
        self.k = nn.Linear(16, 8)
        self.v = nn.Linear(16, 8)

    def forward(self, x):
        layers = (self.q, self.k, self.v)
        w = torch.cat([layer.weight for layer in layers])
        b = torch.cat([layer.bias for layer in layers])
        flat = x.reshape(-1, 16)
        y = torch.empty(flat.shape[0], 24, device=x.device)
        packed_rows[(flat.shape[0],)](flat, w, b, y, K=16, N=24, BN=32)
        return tuple(part.reshape(*x.shape[:-1], 8) for part in y.chunk(3, dim=1))
