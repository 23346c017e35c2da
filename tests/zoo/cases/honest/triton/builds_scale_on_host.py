# task: ew_clamp_scale
# expect: pass
# id: plain
# source: host constants
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import math

import numpy as np

SCALE = float(np.float32(3.0))
LIMIT = math.sqrt(1.0)


@triton.jit
def clamp3(x_ptr, y_ptr, n, lo, hi, scale, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.minimum(tl.maximum(v, lo), hi) * scale, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        clamp3[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), -LIMIT, LIMIT, SCALE, B=64)
        return y
