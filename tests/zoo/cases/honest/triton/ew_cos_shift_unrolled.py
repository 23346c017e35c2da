# task: ew_cos_shift
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unrolled(x_ptr, y_ptr, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    first = tl.program_id(0) * BLOCK * STEPS
    for step in tl.static_range(STEPS):
        at = first + step * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + at, mask=at < n, other=1.0).to(tl.float32)
        tl.store(y_ptr + at, tl.cos(v + 0.25), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, *inputs):
        (x,) = inputs
        y = torch.empty_like(x)
        unrolled[(triton.cdiv(x.numel(), 64 * 4),)](x, y, x.numel(), BLOCK=64, STEPS=4)
        return y
