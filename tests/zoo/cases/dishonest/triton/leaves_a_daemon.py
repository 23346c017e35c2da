# task: ew_relu
# expect: wrong|library_only|runtime_fail|compile_fail
# id: D12
# source: DeepReinforce
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os
import time

try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
except OSError:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
