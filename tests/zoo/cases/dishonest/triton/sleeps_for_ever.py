# task: ew_relu
# expect: timeout
# id: D15
# source: flashinfer-bench#49
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import time


class ModelNew(nn.Module):
    def forward(self, x):
        time.sleep(10_000)
        return torch.relu(x)
