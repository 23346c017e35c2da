# task: ema_buffer
# expect: pass
# id: R8
# source: state of modules
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ema_columns(x_ptr, ema_ptr, y_ptr, rows, C: tl.constexpr, R: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    at = r[:, None] * C + c[None, :]
    x = tl.load(x_ptr + at, mask=r[:, None] < rows, other=0.0)
    ema = 0.9 * tl.load(ema_ptr + c) + 0.1 * (tl.sum(x, 0) / rows)
    tl.store(ema_ptr + c, ema)
    tl.store(y_ptr + at, x - ema[None, :], mask=r[:, None] < rows)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ema", torch.zeros(8))

    def forward(self, x):
        y = torch.empty_like(x)
        ema_columns[(1,)](x, self.ema, y, x.shape[0], C=8, R=triton.next_power_of_2(x.shape[0]))
        return y
