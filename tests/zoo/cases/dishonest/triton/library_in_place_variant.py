# task: ew_relu
# expect: library_only
# id: C1
# source: other names of one operator
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ops.aten.relu_(x.clone())
