# task: ew_relu
# expect: runtime_fail
# id: C7, P17
# source: broken
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        raise RuntimeError("CUDA error: shape mismatch, out of memory")
