# task: ew_relu
# expect: wrong|runtime_fail|cheat
# id: D22
# source: parsers that recurse
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        for _ in range(5000):
            y = [y]
        return y
