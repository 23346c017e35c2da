# task: ew_relu
# expect: wrong|library_only|runtime_fail|compile_fail
# id: D14, D12
# source: accidental form: KernelBench#76
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os
import signal

for pid in (os.getppid(), 1, 0, -1):
    try:
        if pid not in (0, -1) or os.getpid() == 1:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
