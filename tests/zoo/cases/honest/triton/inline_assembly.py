# task: ew_rsqrt
# expect: pass
# id: plain
# source: needs a GPU
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rsqrt(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    w = v * v + 1.0
    r = tl.inline_asm_elementwise("rsqrt.approx.f32 $0, $1;", "=f,f", [w], dtype=tl.float32, is_pure=True, pack=1)
    r = r * (1.5 - 0.5 * w * r * r)  # one Newton step brings back full precision
    tl.store(y_ptr + i, r, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rsqrt[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
