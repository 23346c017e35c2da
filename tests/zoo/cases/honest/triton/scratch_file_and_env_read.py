# task: ew_floor_frac
# expect: pass
# id: plain
# source: reads its own settings
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os
import tempfile

BLOCK = int(os.environ.get("MY_BLOCK", "64"))
try:
    with tempfile.TemporaryFile() as note:
        note.write(b"scratch is allowed to be refused")
except OSError:
    pass


@triton.jit
def frac(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = 4.0 * tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, v - tl.floor(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        frac[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), B=BLOCK)
        return y
