# task: ew_softsign
# expect: wrong
# id: B21
# source: kernelguard truncation rule
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softsign(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i).to(tl.float32)
    tl.store(y_ptr + i, v / (1.0 + tl.abs(v)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        softsign[(x.numel() // 192,)](x, y, B=64)  # the last elements are never touched
        return y
