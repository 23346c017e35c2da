# task: ew_gelu
# expect: library_only
# id: C1
# source: KernelBench checker, KernelAgent#53
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    """An optimised GELU."""

    def forward(self, x):
        return torch.nn.functional.gelu(x)
