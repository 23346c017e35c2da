# task: norm_rms_plain
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_rows(x_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        first += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    mean = 0.0
    second = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        d = tl.where(c < cols, v - mean, 0.0)
        second += d * d
    scale = tl.rsqrt(tl.sum(second, 0) / cols + eps)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        ok = c < cols
        v = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
        r = v * scale
        tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        pass

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        out = torch.empty_like(flat)
        norm_rows[(flat.shape[0],)](flat, out, flat.shape[1], 1e-5, BLOCK=32)
        return out.reshape(x.shape)
