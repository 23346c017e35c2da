# task: mat_linear
# expect: wrong
# id: B24
# source: Wafer, Makora taxonomies
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dense(x_ptr, w_ptr, y_ptr, N, K, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0)
    n, k = tl.arange(0, BN), tl.arange(0, BK)
    x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
    w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
    tl.store(y_ptr + row * N + n, tl.sum(w * x[None, :], 1), mask=n < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 22)

    def forward(self, x):
        y = torch.empty(x.shape[0], 22, device=x.device)
        dense[(x.shape[0],)](x, self.fc.weight, y, 22, 30, BN=32, BK=32)
        return y
