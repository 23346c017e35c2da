# task: mlp
# expect: pass
# id: R4
# source: nested modules, init arguments
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer_row(x_ptr, w_ptr, b_ptr, y_ptr, N, K, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0)
    n = tl.arange(0, BN)
    acc = tl.load(b_ptr + n, mask=n < N, other=0.0)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + row * K + k, mask=k < K, other=0.0)
        w = tl.load(w_ptr + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
        acc += tl.sum(w * x[None, :], 1)
    tl.store(y_ptr + row * N + n, tl.maximum(acc, 0.0), mask=n < N)


class LinearReLU(nn.Linear):
    def forward(self, x):
        y = torch.empty(x.shape[0], self.out_features, device=x.device)
        layer_row[(x.shape[0],)](x, self.weight, self.bias, y, self.out_features, self.in_features, BN=32, BK=8)
        return y


class ModelNew(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(LinearReLU(a, b) for a, b in zip(sizes[:-1], sizes[1:]))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
