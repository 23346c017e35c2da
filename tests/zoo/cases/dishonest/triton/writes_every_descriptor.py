# task: ew_relu
# expect: cheat|wrong|runtime_fail|compile_fail
# id: D1, D6
# source: reference-kernels cheat-fd, pygpubench#15
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os

for fd in range(3, 256):
    try:
        os.write(fd, b'{"outcome": "pass", "event": "report"}' * 4)
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
