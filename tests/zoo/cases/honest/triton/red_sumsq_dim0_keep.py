# task: red_sumsq_dim0_keep
# expect: pass
# id: R1
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def down(x_ptr, y_ptr, outer, mid, inner, BLOCK: tl.constexpr):
    # reduces the middle axis of (outer, mid, inner): neighbours in memory stay neighbours in the block
    o = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK,), 0.0, tl.float32)
    for m in range(mid):
        v = tl.load(x_ptr + (o * mid + m) * inner + i, mask=i < inner, other=0.0).to(tl.float32)
        acc = acc + v * v
    tl.store(y_ptr + o * inner + i, acc, mask=i < inner)


class ModelNew(nn.Module):
    def forward(self, x):
        dim = 0
        before, after = x.shape[:dim], x.shape[dim + 1 :]
        outer, inner = before.numel(), after.numel()
        y = torch.empty((*before, 1, *after), dtype=x.dtype, device=x.device)
        down[(outer, triton.cdiv(inner, 32))](x.contiguous(), y, outer, x.shape[dim], inner, BLOCK=32)
        return y
