# task: softmax_block
# expect: library_only
# id: D18
# source: KernelBench checker: floor division
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.shape[-1] // 1; y = torch.softmax(x, -1)  # noqa: E702
        return y[..., :n]
