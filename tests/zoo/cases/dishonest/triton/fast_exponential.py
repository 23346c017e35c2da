# task: ew_exp
# expect: wrong
# id: B26
# source: robust-kbench compiles with fast math
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def quick_exp(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    bits = (v * 12102203.0 + 1064866805.0).to(tl.int32)  # Schraudolph's trick: 3 % error
    tl.store(y_ptr + i, bits.to(tl.float32, bitcast=True), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        quick_exp[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
