# task: ew_relu
# expect: wrong|library_only|runtime_fail|compile_fail|timeout
# id: D12, D15
# source: issue 3 item 4
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os

try:
    for _ in range(200):
        os.fork()
except OSError:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
