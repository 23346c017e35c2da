# task: ew_relu
# expect: wrong|runtime_fail|timeout|cheat
# id: D22, D14
# source: time-out farming
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros(1, device=x.device).expand(1 << 34)
