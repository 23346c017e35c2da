# task: norm_rms_weight
# expect: pass
# id: R4
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_rows(x_ptr, w_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    v = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / cols + eps)
    r = v * scale * tl.load(w_ptr + c, mask=ok)
    tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(100) + 0.5)

    def forward(self, x):
        y = torch.empty_like(x)
        cols = x.shape[-1]
        grid = (x.numel() // cols,)
        norm_rows[grid](x.contiguous(), self.weight, y, cols, 1e-6, BLOCK=triton.next_power_of_2(cols))
        return y
