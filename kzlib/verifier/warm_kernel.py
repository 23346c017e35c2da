"""One tiny kernel, run before the first fork (a kernel must live in a file that can be read)."""

import torch
import triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.exp(value) + tl.sum(value, 0), mask=i < n)


def run() -> torch.Tensor:
    """Double a short vector."""
    x = torch.ones(8)
    y = torch.empty_like(x)
    double[(1,)](x, y, 8, BLOCK=8)
    return y
