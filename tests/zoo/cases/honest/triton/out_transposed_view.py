# task: mat_mm
# expect: pass
# id: R18, R2
# source: layout of outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def product_t(a_ptr, b_ptr, ct_ptr, M, N, K, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k0 in range(0, K, B):
        k = k0 + tl.arange(0, B)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(ct_ptr + n[None, :] * M + m[:, None], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        (M, K), N = a.shape, b.shape[1]
        ct = torch.empty((N, M), device=a.device, dtype=a.dtype)
        product_t[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a.contiguous(), b.contiguous(), ct, M, N, K, B=16)
        return ct.t()
