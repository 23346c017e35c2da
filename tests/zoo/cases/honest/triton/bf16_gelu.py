# task: bf16_gelu
# expect: pass
# id: R19, R1
# source: stack notes: bf16 in the interpreter
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, (0.5 * v * (1.0 + tl.erf(v * 0.70710678))).to(tl.bfloat16), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        gelu[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), B=128)
        return y
