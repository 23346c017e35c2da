# task: product_to_zero
# expect: wrong|invalid_task
# id: B14
# source: FlagGems#5569, robust-kbench
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def zero(y_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(y_ptr + i, tl.zeros((B,), tl.float32), mask=i < 9)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        zero[(1,)](y, B=16)
        return y
