# task: ew_gelu_tanh
# expect: pass
# id: R10
# source: tests/zoo/make
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def overwrite(p, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(p + o, mask=o < n).to(tl.float32)
    tl.store(p + o, v * tl.sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v)), mask=o < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone(memory_format=torch.contiguous_format)  # the caller's tensor stays as it is
        overwrite[(triton.cdiv(y.numel(), 128),)](y, y.numel(), 128)
        return y
