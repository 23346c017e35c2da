# task: half_deep
# expect: wrong
# id: B25
# source: fp16 accumulation of a long sum
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float16)
    for k in range(K):
        a = tl.load(a_ptr + m * K + k, mask=m < M, other=0.0)
        b = tl.load(b_ptr + k * N + n, mask=n < N, other=0.0)
        acc += a[:, None] * b[None, :]
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        (M, K), N = a.shape, b.shape[1]
        c = a.new_empty(M, N)
        mm[(triton.cdiv(M, 8), triton.cdiv(N, 8))](a, b, c, M, N, K, BM=8, BN=8)
        return c
