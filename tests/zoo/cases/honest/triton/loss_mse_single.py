# task: loss_mse_single
# expect: pass
# id: R1, R12
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def loss_kernel(p_ptr, t_ptr, out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        ok = i < n
        p = tl.load(p_ptr + i, mask=ok, other=0.5)
        t = tl.load(t_ptr + i, mask=ok, other=0.5)
        acc += tl.where(ok, (p - t) * (p - t), 0.0)
    tl.store(out_ptr, tl.sum(acc, 0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, p, t):
        out = p.new_empty(())
        loss_kernel[(1,)](p, t, out, p.numel(), 256)
        return out
