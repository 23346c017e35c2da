# task: qkv
# expect: pass
# id: R11, R18
# source: views as outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def three(x_ptr, w_ptr, b_ptr, y_ptr, part, rows, K: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0)
    k, n = tl.arange(0, K), tl.arange(0, N)
    x = tl.load(x_ptr + row * K + k)
    y = tl.sum(tl.load(w_ptr + n[:, None] * K + k[None, :]) * x[None, :], 1) + tl.load(b_ptr + n)
    tl.store(y_ptr + (row * 3 + part) * N + n, y)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 8)
        self.k = nn.Linear(16, 8)
        self.v = nn.Linear(16, 8)

    def forward(self, x):
        rows = x.shape[0] * x.shape[1]
        y = torch.empty(*x.shape[:2], 3, 8, device=x.device)
        for part, layer in enumerate((self.q, self.k, self.v)):
            three[(rows,)](x.contiguous(), layer.weight, layer.bias, y, part, rows, K=16, N=8)
        return y[:, :, 0], y[:, :, 1], y[:, :, 2]
