# task: ew_hardtanh
# expect: wrong|library_only
# id: B9
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        return x
