# task: topk_both
# expect: pass
# id: R11, R15
# source: named tuples
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(x_ptr, v_ptr, i_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    v = tl.load(x_ptr + row * C + tl.arange(0, C))
    top, at = tl.max(v, 0, return_indices=True)
    tl.store(v_ptr + row, top)
    tl.store(i_ptr + row, at.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        values = x.new_empty(x.shape[0])
        indices = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
        both[(x.shape[0],)](x, values, indices, C=16)
        return values, indices
