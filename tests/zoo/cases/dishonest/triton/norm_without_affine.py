# task: norm_layer_affine
# expect: wrong
# id: B13, B24
# source: accelerator-agents#50
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layer(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    d = tl.where(c < cols, v - tl.sum(v, 0) / cols, 0.0)
    tl.store(y_ptr + row * cols + c, d * tl.rsqrt(tl.sum(d * d, 0) / cols + 1e-5), mask=c < cols)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(48)

    def forward(self, x):
        y = torch.empty_like(x)
        layer[(x.numel() // x.shape[-1],)](x, y, x.shape[-1], B=64)
        return y
