# task: mat_mm
# expect: cheat|wrong|library_only
# id: A1, P03
# source: KernelBench unit tests, DeepReinforce
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, a, b):
        s = torch.cuda.Stream()
        with torch.cuda.stream(s):
            y = a @ b
        return y
