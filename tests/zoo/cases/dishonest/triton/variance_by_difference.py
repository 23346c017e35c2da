# task: norm_layer_plain
# expect: wrong
# id: B27
# source: Wafer field guide
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def naive(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0)
    mean = tl.sum(v, 0) / cols
    var = tl.sum(v * v, 0) / cols - mean * mean
    tl.store(y_ptr + row * cols + c, (v - mean) * tl.rsqrt(var + 1e-5), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        naive[(x.numel() // x.shape[-1],)](x, y, x.shape[-1], B=32)
        return y
