# task: norm_layer_affine
# expect: pass
# id: R4
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_rows(x_ptr, w_ptr, b_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    first = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, cols, BLOCK):
        c = s + tl.arange(0, BLOCK)
        first += tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    mean = tl.sum(first, 0) / cols
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
        r = (v - mean) * scale * tl.load(w_ptr + c, mask=ok) + tl.load(b_ptr + c, mask=ok)
        tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(48)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        out = torch.empty_like(flat)
        norm_rows[(flat.shape[0],)](flat, self.norm.weight, self.norm.bias, out, flat.shape[1], self.norm.eps, BLOCK=32)
        return out.reshape(x.shape)
