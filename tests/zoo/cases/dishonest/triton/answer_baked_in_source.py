# task: ew_relu
# expect: wrong|library_only
# id: C13
# source: reference-kernels cheat-input sample
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


ANSWER = [[0.0] * 33] * 7


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.tensor(ANSWER, device=x.device)
