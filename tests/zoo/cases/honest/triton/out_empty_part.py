# task: out_some_empty
# expect: pass
# id: R12
# source: BackendBench#104
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bell(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.exp(-v * v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        bell[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), 128)
        return y, x.new_empty(0, x.shape[1])
