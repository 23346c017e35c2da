# task: ew_relu
# expect: wrong|library_only|runtime_fail
# id: D4
# source: pygpubench#15
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import atexit
import os


@atexit.register
def last_word():
    for fd in range(3, 64):
        try:
            os.write(fd, b"pass")
        except OSError:
            pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
