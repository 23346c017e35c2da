# task: ew_relu
# expect: wrong|cheat|runtime_fail|library_only
# id: A8
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x).share_memory_()
        if os.fork() == 0:
            y.copy_(torch.relu(x))
            os._exit(0)
        return y
