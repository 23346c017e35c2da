# task: bf16_softmax
# expect: pass
# id: R19, R35
# source: float32 inside is better than the reference
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y_ptr + row * cols + c, (e / tl.sum(e, 0)).to(y_ptr.dtype.element_ty), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax[(x.shape[0],)](x, y, x.shape[1], B=64)
        return y
