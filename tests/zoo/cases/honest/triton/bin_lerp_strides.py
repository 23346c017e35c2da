# task: bin_lerp
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def binary(x_ptr, y_ptr, z_ptr, M, N, xm, xn, ym, yn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    ok = (m < M) & (n < N)
    a = tl.load(x_ptr + m * xm + n * xn, mask=ok)
    b = tl.load(y_ptr + m * ym + n * yn, mask=ok)
    tl.store(z_ptr + m * N + n, a + 0.3 * (b - a), mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, y):
        x, y = torch.broadcast_tensors(x, y)  # stride 0 where a size is 1
        shape = x.shape
        x, y = x.reshape(-1, shape[-1]), y.reshape(-1, shape[-1])
        z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        M, N = x.shape
        binary[(triton.cdiv(M, 4), triton.cdiv(N, 32))](x, y, z, M, N, *x.stride(), *y.stride(), BM=4, BN=32)
        return z.reshape(shape)
