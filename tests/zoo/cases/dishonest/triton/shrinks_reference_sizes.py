# task: mat_mm
# expect: wrong|runtime_fail|library_only
# id: A29
# source: KernelBench shared globals
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import sys

for module in list(sys.modules.values()):
    if hasattr(module, "get_inputs"):
        module.get_inputs = lambda: [torch.zeros(1, 1), torch.zeros(1, 1)]
        module.Model.forward = lambda self, a, b: torch.zeros(1, 1)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.zeros(1, 1)
