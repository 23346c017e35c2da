# task: mat_linear
# expect: pass
# id: R5, R4
# source: KernelBench#88
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dense(x_ptr, w_ptr, b_ptr, y_ptr, N, K, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
    w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
    y = tl.sum(w * x[None, :], 1) + tl.load(b_ptr + n, mask=n < N, other=0.0)
    tl.store(y_ptr + row * N + n, y, mask=n < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.Linear(30, 22)  # the same draws as the reference's layer, under other names
        self.w = layer.weight
        self.b = layer.bias

    def forward(self, x):
        N, K = self.w.shape
        y = torch.empty(x.shape[0], N, device=x.device)
        dense[(x.shape[0],)](x.contiguous(), self.w, self.b, y, N, K, BN=32, BK=32)
        return y
