# task: out_complex
# expect: pass
# id: R13
# source: float-only comparisons
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def polar(r_ptr, phi_ptr, z_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    r = tl.load(r_ptr + i, mask=i < n)
    phi = tl.load(phi_ptr + i, mask=i < n)
    tl.store(z_ptr + 2 * i, r * tl.cos(phi), mask=i < n)
    tl.store(z_ptr + 2 * i + 1, r * tl.sin(phi), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, r, phi):
        z = torch.empty(*r.shape, 2, device=r.device)
        polar[(triton.cdiv(r.numel(), 64),)](r, phi, z, r.numel(), B=64)
        return torch.view_as_complex(z)
