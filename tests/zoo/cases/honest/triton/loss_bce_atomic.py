# task: loss_bce_atomic
# expect: pass
# id: R1, R17, R12
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    p = tl.load(p_ptr + i, mask=ok, other=0.5)
    t = tl.load(t_ptr + i, mask=ok, other=0.5)
    loss = tl.where(ok, -(t * tl.log(p) + (1.0 - t) * tl.log(1.0 - p)), 0.0)
    tl.atomic_add(out_ptr, tl.sum(loss, 0) / n)


class ModelNew(nn.Module):
    def forward(self, p, t):
        out = torch.zeros((), dtype=torch.float32, device=p.device)
        loss_kernel[(triton.cdiv(p.numel(), 128),)](p.contiguous(), t.contiguous(), out, p.numel(), BLOCK=128)
        return out
