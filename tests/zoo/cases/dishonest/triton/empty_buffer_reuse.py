# task: mat_mm
# expect: wrong|library_only
# id: B1, P02
# source: Sakana withdrawal, KernelBench adversarial test
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.empty(a.shape[0], b.shape[1], device=a.device)
