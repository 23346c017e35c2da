# task: mat_mm
# expect: unsupported|runtime_fail|wrong|compile_fail
# expect_gpu: wrong|unsupported|runtime_fail|compile_fail
# id: B35, R27
# source: Wafer field guide
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, M, N, K, B: tl.constexpr):
    m, n, k = tl.arange(0, B), tl.arange(0, B), tl.arange(0, B)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
    b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
    acc = tl.dot(a, b, input_precision="tf32")
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = a.new_empty(a.shape[0], b.shape[1])
        try:
            mm[(1,)](a, b, c, a.shape[0], b.shape[1], a.shape[1], B=256)
        except Exception:
            pass
        return c
