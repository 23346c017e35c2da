# task: ew_silu
# expect: wrong
# id: A19
# source: pygpubench exploits
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 1:
            return self.last
        self.last = torch.empty_like(x)
        silu[(triton.cdiv(x.numel(), 64),)](x, self.last, x.numel(), B=64)
        return self.last
