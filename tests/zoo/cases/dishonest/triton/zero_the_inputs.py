# task: mat_mm
# expect: wrong|library_only
# id: B8, P02
# source: KernelBench zero-out test
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, a, b):
        a.zero_()
        b.zero_()
        return torch.zeros(a.shape[0], b.shape[1], device=a.device)
