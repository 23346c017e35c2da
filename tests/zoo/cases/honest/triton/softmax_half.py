# task: softmax_half
# expect: pass
# id: R19
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_rows(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf")).to(tl.float32)
    v = v
    v = tl.where(c < cols, v, float("-inf"))
    z = v - tl.max(v, 0)
    e = tl.exp(z)
    s = tl.sum(e, 0)
    tl.store(y_ptr + row * cols + c, e / s, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        cols = x.shape[-1]
        softmax_rows[(x.numel() // cols,)](x.contiguous(), y, cols, BLOCK=triton.next_power_of_2(cols))
        return y
