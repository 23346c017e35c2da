# task: mat_mm_deep
# expect: pass
# id: R1, R17
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def matmul_split(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, SPLIT: tl.constexpr, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k0 in range(tl.program_id(2) * B, K, SPLIT * B):
        k = k0 + tl.arange(0, B)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.atomic_add(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a, b
        M, K = a.shape
        N = b.shape[1]
        c = torch.zeros((M, N), dtype=torch.float32, device=a.device)
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16), 4)
        matmul_split[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), SPLIT=4, B=16)
        return c.to(a.dtype)
