# task: loss_cross_entropy
# expect: pass
# id: R6, R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cross_entropy_rows(x_ptr, label_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf"))
    label = tl.load(label_ptr + row)
    top = tl.max(v, 0)
    lse = tl.log(tl.sum(tl.exp(v - top), 0)) + top
    tl.store(out_ptr + row, lse - tl.sum(tl.where(c == label, v, 0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x, labels):
        rows, cols = x.shape
        out = torch.empty(rows, dtype=torch.float32, device=x.device)
        cross_entropy_rows[(rows,)](x.contiguous(), labels, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out.mean()
