# task: ew_gaussian
# expect: cheat|runtime_fail
# id: C12
# source: computed on the host
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import numpy as np


@triton.jit
def copy(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        z = torch.from_numpy(np.exp(-0.5 * np.square(np.array(x.cpu().tolist(), dtype=np.float32)))).to(x.device)
        y = torch.empty_like(x)
        copy[(triton.cdiv(z.numel(), 64),)](z, y, z.numel(), B=64)
        return y
