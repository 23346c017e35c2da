# task: ew_elu
# expect: compile_fail|runtime_fail
# id: C5
# source: Kevin
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class Model(nn.Module):
    def forward(self, x):
        return torch.nn.functional.elu(x, 1.5)
