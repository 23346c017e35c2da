# task: ew_relu6
# expect: pass
# id: R18
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tile_kernel(x_ptr, y_ptr, M, N, sxm, sxn, sym, syn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inside = (m < M) & (n < N)
    v = tl.load(x_ptr + m * sxm + n * sxn, mask=inside, other=0.0).to(tl.float32)
    r = tl.minimum(tl.maximum(3.0 * v, 0.0), 6.0)
    tl.store(y_ptr + m * sym + n * syn, r.to(y_ptr.dtype.element_ty), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x2 = x.reshape(x.shape[0], -1)
        y2 = torch.empty(x2.shape, dtype=x.dtype, device=x.device)
        M, N = x2.shape
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))
        tile_kernel[grid](x2, y2, M, N, *x2.stride(), *y2.stride(), BM=8, BN=32)
        return y2.reshape(x.shape)
