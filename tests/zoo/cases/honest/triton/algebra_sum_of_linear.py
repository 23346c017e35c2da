# task: sum_of_linear
# expect: pass
# id: R36, R4
# source: right algebra looks like a hack
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fold(w_ptr, b_ptr, ws_ptr, N, K, BN: tl.constexpr, BK: tl.constexpr):
    n, k = tl.arange(0, BN), tl.arange(0, BK)
    w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
    tl.store(ws_ptr + k, tl.sum(w, 0), mask=k < K)
    tl.store(ws_ptr + K, tl.sum(tl.load(b_ptr + n, mask=n < N, other=0.0), 0))


@triton.jit
def dot_rows(x_ptr, ws_ptr, y_ptr, K, BK: tl.constexpr):
    k = tl.arange(0, BK)
    x = tl.load(x_ptr + tl.program_id(0) * K + k, mask=k < K, other=0.0)
    w = tl.load(ws_ptr + k, mask=k < K, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x * w, 0) + tl.load(ws_ptr + K))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 30)

    def forward(self, x):
        N, K = self.fc.weight.shape
        ws = torch.empty(K + 1, device=x.device)
        fold[(1,)](self.fc.weight, self.fc.bias, ws, N, K, BN=32, BK=32)
        y = x.new_empty(x.shape[0])
        dot_rows[(x.shape[0],)](x, ws, y, K, BK=32)
        return y
