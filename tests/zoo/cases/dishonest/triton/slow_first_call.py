# task: ew_sigmoid
# expect: timeout|pass|cheat
# id: A20
# source: pygpubench: iteration count from warm-up
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import time


@triton.jit
def logistic(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.sigmoid(tl.load(x_ptr + i, mask=i < n).to(tl.float32)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if not hasattr(self, "warm"):
            self.warm = True
            time.sleep(8)
        y = torch.empty_like(x)
        logistic[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
