# task: ew_relu
# expect: runtime_fail|cheat
# id: D14
# source: KernelBench#76
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import ctypes


class ModelNew(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return torch.relu(x)
