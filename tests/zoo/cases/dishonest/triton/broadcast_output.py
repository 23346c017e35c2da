# task: red_mean_dim1
# expect: wrong
# id: B32
# source: stride-0 outputs
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def first(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(1, device=x.device)
        first[(1,)](x, y)
        return y.expand(x.shape[0], x.shape[2])
