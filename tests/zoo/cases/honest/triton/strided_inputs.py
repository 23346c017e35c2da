# task: strided_in
# expect: pass
# id: R18
# source: layout of inputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_rows(x_ptr, s_ptr, y_ptr, M, N, xm, xn, sm, B: tl.constexpr):
    m = tl.program_id(0)
    n = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x_ptr + m * xm + n * xn, mask=n < N)
    tl.store(y_ptr + m * N + n, v * tl.load(s_ptr + m * sm), mask=n < N)


class ModelNew(nn.Module):
    def forward(self, x, s):
        M, N = x.shape
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        scale_rows[(M, triton.cdiv(N, 16))](x, s, y, M, N, x.stride(0), x.stride(1), s.stride(0), B=16)
        return y
