# task: ew_relu
# expect: wrong|library_only|runtime_fail|compile_fail
# id: D10
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import sys

for name in list(sys.modules):
    if name.startswith(("kzlib", "struct", "socket", "json")):
        del sys.modules[name]


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
