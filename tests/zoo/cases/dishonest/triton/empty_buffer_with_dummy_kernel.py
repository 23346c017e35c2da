# task: mat_mm
# expect: wrong
# id: B1, C9
# source: Sakana withdrawal
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nothing(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(a.shape[0], b.shape[1], device=a.device)
        nothing[(1,)](y)
        return y
