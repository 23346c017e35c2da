# task: red_full_abs_mean
# expect: pass
# id: R17, R12
# source: atomics
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def locked_add(x_ptr, y_ptr, lock_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.sum(tl.abs(tl.load(x_ptr + i, mask=i < n, other=0.0)), 0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(y_ptr, tl.load(y_ptr, volatile=True) + part / n)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros((), device=x.device)
        lock = torch.zeros(1, dtype=torch.int32, device=x.device)
        locked_add[(triton.cdiv(x.numel(), 128),)](x, y, lock, x.numel(), B=128)
        return y
