# task: complex_product
# expect: pass
# id: R13
# source: float-only comparisons
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cmul(a_ptr, b_ptr, c_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    ok = i < n
    ar, ai = tl.load(a_ptr + 2 * i, mask=ok), tl.load(a_ptr + 2 * i + 1, mask=ok)
    br, bi = tl.load(b_ptr + 2 * i, mask=ok), tl.load(b_ptr + 2 * i + 1, mask=ok)
    tl.store(c_ptr + 2 * i, ar * br - ai * bi, mask=ok)
    tl.store(c_ptr + 2 * i + 1, ar * bi + ai * br, mask=ok)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        cmul[(triton.cdiv(a.numel(), 32),)](
            torch.view_as_real(a), torch.view_as_real(b), torch.view_as_real(c), a.numel(), B=32
        )
        return c
