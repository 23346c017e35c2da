# task: ew_silu
# expect: pass
# id: R20
# source: strict type tests
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def silu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, v / (1.0 + tl.exp(-v)), mask=i < n)


class ModelNew(nn.Module):
    @torch.inference_mode()
    def forward(self, x):
        y = torch.empty_like(x)
        silu[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
