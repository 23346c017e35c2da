# task: tensor_list
# expect: pass
# id: R11
# source: arguments that are not tensors
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def axpy(x_ptr, w_ptr, y_ptr, n, index, FIRST: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(w_ptr + index) * tl.load(x_ptr + i, mask=i < n, other=0.0)
    if not FIRST:
        v += tl.load(y_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, v, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, parts, weights):
        y = torch.empty_like(parts[0])
        for index, part in enumerate(parts):
            axpy[(triton.cdiv(y.numel(), 64),)](part, weights, y, y.numel(), index, FIRST=index == 0, B=64)
        return y
