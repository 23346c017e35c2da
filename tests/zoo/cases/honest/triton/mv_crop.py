# task: mv_crop
# expect: pass
# id: plain
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def move(x_ptr, y_ptr, H, W, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    w, h, p = i % (W - 2) + 2, (i // (W - 2)) % (H - 2) + 1, i // ((W - 2) * (H - 2))
    at = (p * H + h) * W + w
    v = tl.load(x_ptr + at, mask=live, other=0.0)
    tl.store(y_ptr + i, v, mask=live)


class ModelNew(nn.Module):
    def forward(self, x):
        N, C, H, W = x.shape
        y = torch.empty((N, C, H - 2, W - 2), dtype=x.dtype, device=x.device)
        move[(triton.cdiv(y.numel(), 128),)](x.contiguous(), y, H, W, y.numel(), BLOCK=128)
        return y
