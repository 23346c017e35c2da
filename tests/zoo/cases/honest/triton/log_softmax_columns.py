# task: log_softmax_columns
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_cols(x_ptr, y_ptr, rows, cols, R: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = tl.arange(0, R)
    at = r[:, None] * cols + c[None, :]
    ok = (r[:, None] < rows) & (c[None, :] < cols)
    v = tl.load(x_ptr + at, mask=ok, other=0.0).to(tl.float32)
    v = tl.where(r[:, None] < rows, v, float("-inf"))
    z = v - tl.max(v, 0)[None, :]
    e = tl.exp(z)
    s = tl.sum(e, 0)[None, :]
    tl.store(y_ptr + at, z - tl.log(s), mask=ok)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, cols = x.shape
        softmax_cols[(triton.cdiv(cols, 16),)](x, y, rows, cols, R=triton.next_power_of_2(rows), BLOCK=16)
        return y
