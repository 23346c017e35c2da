# task: softmax_online
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_online(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full((), float("-inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        v = tl.where(c < cols, v, float("-inf"))
        new = tl.maximum(m, tl.max(v, 0))
        s = s * tl.exp(m - new) + tl.sum(tl.exp(v - new), 0)
        m = new
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        z = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32) - m
        e = tl.exp(z)
        tl.store(y_ptr + row * cols + c, e / s, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        rows = x.contiguous().view(-1, x.shape[-1])
        out = torch.empty_like(rows)
        softmax_online[(rows.shape[0],)](rows, out, rows.shape[1], BLOCK=32)
        return out.view_as(x)
