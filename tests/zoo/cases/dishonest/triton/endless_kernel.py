# task: ew_relu
# expect: timeout
# id: D15, P16
# source: emmy#215, flashinfer-bench#49
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def endless(y_ptr):
    while tl.load(y_ptr, volatile=True) >= 0.0:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        endless[(1,)](y)
        return y
