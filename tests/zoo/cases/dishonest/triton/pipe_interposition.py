# task: ew_relu
# expect: cheat|wrong|runtime_fail|compile_fail|timeout
# id: D6
# source: pygpubench exploits
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os
import socket

for fd in range(3, 64):
    try:
        os.fstat(fd)
    except OSError:
        continue
    try:
        read, write = os.pipe()
        os.dup2(write, fd)
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
