# task: mat_linear
# expect: pass
# id: R5, R4
# source: Wafer field guide, benign side of A25
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gemm(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k0 in range(0, K, B):
        k = k0 + tl.arange(0, B)
        a = tl.load(x_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        w = tl.load(w_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, w, input_precision="ieee")
    acc += tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :]
    tl.store(y_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 22)
        self._packed = None

    def _weight(self):
        # The layout of the weight is prepared once; a changed weight is seen by its version.
        key = (self.fc.weight.data_ptr(), self.fc.weight._version)
        if self._packed is None or self._packed[0] != key:
            self._packed = (key, self.fc.weight.detach().t().contiguous())
        return self._packed[1]

    def forward(self, x):
        M, K = x.shape
        N = self.fc.out_features
        y = x.new_empty(M, N)
        gemm[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x.contiguous(), self._weight(), self.fc.bias, y, M, N, K, B=16)
        return y
