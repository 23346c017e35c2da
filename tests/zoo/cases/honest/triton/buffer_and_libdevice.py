# task: const_scale
# expect: pass
# id: R4
# source: libdevice
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


from triton.language.extra.cuda import libdevice


@triton.jit
def arctan(x_ptr, t_ptr, y_ptr, cols, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0) * tl.load(t_ptr + i % cols, mask=i < n, other=0.0)
    tl.store(y_ptr + i, libdevice.atan(v), mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.linspace(0.5, 2.0, 9))

    def forward(self, x):
        y = torch.empty_like(x)
        arctan[(triton.cdiv(x.numel(), 64),)](x, self.table, y, x.shape[1], x.numel(), B=64)
        return y
