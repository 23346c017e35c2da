# task: red_full_long_half
# expect: pass
# id: R1, R3, R12
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_sums(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(part_ptr + tl.program_id(0), tl.sum(v, 0))


@triton.jit
def last_sum(part_ptr, y_ptr, parts, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(part_ptr + i, mask=i < parts, other=0.0), 0)
    tl.store(y_ptr, total)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        parts = triton.cdiv(n, 512)
        part = torch.empty(parts, dtype=torch.float32, device=x.device)
        y = torch.empty((), dtype=x.dtype, device=x.device)
        partial_sums[(parts,)](x.contiguous(), part, n, BLOCK=512)
        last_sum[(1,)](part, y, parts, n, BLOCK=triton.next_power_of_2(parts))
        return y
