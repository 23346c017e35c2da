# task: ew_relu
# expect: wrong|library_only
# id: A25, B19
# source: reference-kernels cheat sample
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


torch.manual_seed(42)
KNOWN = torch.randn(7, 33)
ANSWER = torch.relu(KNOWN)


class ModelNew(nn.Module):
    def forward(self, x):
        return ANSWER.clone().to(x.device)
