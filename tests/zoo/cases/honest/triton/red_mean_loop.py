# task: red_mean
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def reduce_row(x_ptr, y_ptr, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    a = tl.full((), 0.0, tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * stride + c, mask=c < cols, other=0.0).to(tl.float32)
        p = tl.sum(v, 0)
        a = a + p
    tl.store(y_ptr + row, a / cols)


class ModelNew(nn.Module):
    BLOCK = 64

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1]).contiguous()
        out = x.new_empty((rows.shape[0],))
        reduce_row[(rows.shape[0],)](rows, out, rows.stride(0), rows.shape[1], BLOCK=self.BLOCK)
        return out.reshape(x.shape[:-1])
