# task: out_tuple
# expect: pass
# id: R11, R1
# source: KernelBench single-tensor rule
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def stats(x_ptr, sum_ptr, max_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    tl.store(sum_ptr + row, tl.sum(v, 0))
    tl.store(max_ptr + row, tl.max(tl.where(c < cols, v, float("-inf")), 0))


class ModelNew(nn.Module):
    def forward(self, x):
        both = torch.empty(2, x.shape[0], device=x.device)
        stats[(x.shape[0],)](x, both[0], both[1], x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return both[0], both[1]
