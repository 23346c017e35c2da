# task: mat_linear_gelu
# expect: pass
# id: R1, R4
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rank_one_updates(a_ptr, b_ptr, c_ptr, bias_ptr, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr):
    # adds one outer product a[:, k] b[k, :] a step: no tensor cores, exact float32
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(K):
        a = tl.load(a_ptr + m * am + k * ak, mask=m < M, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + k * bk + n * bn, mask=n < N, other=0.0).to(tl.float32)
        acc += a[:, None] * b[None, :]
    acc += tl.load(bias_ptr + n, mask=n < N, other=0.0)[None, :]
    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.7071067811865476))
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 36)

    def forward(self, x):
        a, b = x, self.fc.weight.t()
        M, K = a.shape
        _, N = b.shape
        c = torch.empty(M, N, dtype=a.dtype, device=a.device)
        rank_one_updates[(triton.cdiv(M, 16), triton.cdiv(N, 32))](
            a, b, c, self.fc.bias, M, N, K, *a.stride(), *b.stride(), BM=16, BN=32
        )
        return c
