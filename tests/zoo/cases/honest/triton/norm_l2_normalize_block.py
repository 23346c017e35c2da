# task: norm_l2_normalize
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
    c = tl.arange(0, BLOCK)
    ok = c < cols
    v = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    scale = 1.0 / tl.maximum(tl.sqrt(tl.sum(v * v, 0)), eps)
    r = v * scale
    tl.store(y_ptr + row * cols + c, r, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        pass

    def forward(self, x):
        y = torch.empty_like(x)
        cols = x.shape[-1]
        grid = (x.numel() // cols,)
        norm_rows[grid](x.contiguous(), y, cols, 1e-12, BLOCK=triton.next_power_of_2(cols))
        return y
