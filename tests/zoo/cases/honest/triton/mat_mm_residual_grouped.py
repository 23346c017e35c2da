# task: mat_mm_residual
# expect: pass
# id: R1, R2
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_grouped(
    a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    # neighbouring programs share rows of b, so that they stay in the L2 cache
    pid = tl.program_id(0)
    num_m = tl.cdiv(M, BM)
    num_n = tl.cdiv(N, BN)
    per_group = GROUP * num_n
    first = (pid // per_group) * GROUP
    rows = min(num_m - first, GROUP)
    pm = first + (pid % per_group) % rows
    pn = (pid % per_group) // rows
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    pa = a_ptr + m[:, None] * am + k[None, :] * ak
    pb = b_ptr + k[:, None] * bk + n[None, :] * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        a = tl.load(pa, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(pb, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        pa += BK * ak
        pb += BK * bk
    acc += tl.load(a_ptr + m[:, None] * am + n[None, :] * ak, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a, b
        (M, K), N = a.shape, b.shape[1]
        c = a.new_empty(M, N)
        tiles = triton.cdiv(M, 16) * triton.cdiv(N, 32)
        matmul_grouped[(tiles,)](
            a, b, c, M, N, K, *a.stride(), *b.stride(), BM=16, BN=32, BK=16, GROUP=2
        )
        return c
