# task: ew_elu
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows_kernel(src, dst, cols, BLOCK: tl.constexpr):
    # one program a row, columns in steps
    row = tl.program_id(0)
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        v = tl.load(src + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
        tl.store(dst + row * cols + c, tl.where(v > 0, v, 1.5 * (tl.exp(tl.minimum(v, 0.0)) - 1.0)), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        flat = x.contiguous().view(-1, x.shape[-1])
        out = torch.empty_like(flat)
        rows_kernel[(flat.shape[0],)](flat, out, flat.shape[1], BLOCK=64)
        return out.view(x.shape)
