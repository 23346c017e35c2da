# task: topk_values
# expect: pass
# id: R15
# source: selection ops
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def topk(x_ptr, y_ptr, cols, K: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x_ptr + row * cols + c, mask=c < cols, other=float("-inf"))
    for k in tl.static_range(K):
        top = tl.max(v, 0)
        at = tl.min(tl.where(v == top, c, B), 0)
        tl.store(y_ptr + row * K + k, top)
        v = tl.where(c == at, float("-inf"), v)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], 3, device=x.device)
        topk[(x.shape[0],)](x, y, x.shape[1], K=3, B=32)
        return y
