# task: ew_relu
# expect: timeout
# id: D15
# source: P16
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import signal
import time

for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        while True:
            time.sleep(1)
