# task: logsumexp_keep
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lse(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf"))
    m = tl.max(v, 0)
    tl.store(y_ptr + row, m + tl.log(tl.sum(tl.exp(v - m), 0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.new_empty(x.shape[0], 1)
        lse[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
