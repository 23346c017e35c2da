# task: dropout_eval
# expect: pass|invalid_task
# id: R7
# source: random ops in eval mode
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh2(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, 4.0 * tl.sigmoid(2.0 * v) - 2.0, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.4)
        self.eval()

    def forward(self, x):
        y = torch.empty_like(x)
        tanh2[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
