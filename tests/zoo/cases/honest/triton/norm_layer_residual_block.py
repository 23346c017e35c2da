# task: norm_layer_residual
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
    c = tl.arange(0, BLOCK)
    ok = c < cols
    v = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / cols
    d = tl.where(ok, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(d * d, 0) / cols + eps)
    r = (v - mean) * scale * tl.load(w_ptr + c, mask=ok) + tl.load(b_ptr + c, mask=ok) + v
    tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(100)

    def forward(self, x):
        y = torch.empty_like(x)
        cols = x.shape[-1]
        grid = (x.numel() // cols,)
        norm_rows[grid](x.contiguous(), self.norm.weight, self.norm.bias, y, cols, self.norm.eps, BLOCK=triton.next_power_of_2(cols))
        return y
