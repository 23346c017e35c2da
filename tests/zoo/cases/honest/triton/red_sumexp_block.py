# task: red_sumexp
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reduce_row(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float('-inf')).to(tl.float32)
    a = tl.sum(tl.exp(v), 0)
    tl.store(y_ptr + row, a)


class ModelNew(nn.Module):
    def forward(self, x):
        cols = x.shape[-1]
        x2 = x.contiguous().view(-1, cols)
        y = torch.empty(x2.shape[0], dtype=x.dtype, device=x.device)
        reduce_row[(x2.shape[0],)](x2, y, cols, BLOCK=triton.next_power_of_2(cols))
        return y.view(x.shape[:-1])
