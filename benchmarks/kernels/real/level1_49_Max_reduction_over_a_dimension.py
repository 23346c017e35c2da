import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def max_kernel(x_ptr, out_ptr, n, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    r = tl.arange(0, BLOCK)
    mask = r < n
    b = row // C
    c = row % C
    x = tl.load(x_ptr + (b * n + r) * C + c, mask=mask, other=-float("inf"))
    v = tl.max(x, 0)
    tl.store(out_ptr + row, v)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor):
        out = torch.empty((x.shape[0], x.shape[2]), device=x.device)
        n = x.shape[1]
        max_kernel[(x.shape[0] * x.shape[2],)](x, out, n, x.shape[2], BLOCK=triton.next_power_of_2(n))
        return out
