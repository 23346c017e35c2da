# task: out_dict
# expect: pass
# id: R11
# source: recursive outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def both(x_ptr, half_ptr, relu_ptr, mean_ptr, C: tl.constexpr):
    at = tl.program_id(0) * C + tl.arange(0, C)
    v = tl.load(x_ptr + at)
    tl.store(half_ptr + at, v * 0.5)
    tl.store(relu_ptr + at, tl.maximum(v, 0.0))
    tl.store(mean_ptr + tl.program_id(0), tl.sum(v, 0) / C)


class ModelNew(nn.Module):
    def forward(self, x):
        half, relu = torch.empty_like(x), torch.empty_like(x)
        mean = torch.empty(x.shape[0], device=x.device)
        both[(x.shape[0],)](x, half, relu, mean, C=x.shape[1])
        return {"scaled": half, "parts": [relu, (mean,)]}
