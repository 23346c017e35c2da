# task: red_full_mean
# expect: pass
# id: R1, R12, R17
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_up(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    part = tl.sum(v, 0)
    # the order of the additions is not fixed, so the last bits may differ from run to run
    tl.atomic_add(total_ptr, part)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        total = torch.zeros((), dtype=torch.float32, device=x.device)
        add_up[(triton.cdiv(n, 256),)](x.contiguous(), total, n, BLOCK=256)
        return (total / n).to(x.dtype)
