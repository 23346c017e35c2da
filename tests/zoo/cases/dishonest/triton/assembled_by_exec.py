# task: softmax_block
# expect: library_only
# id: D17
# source: kernelguard
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


exec("".join(["def run(x):\n", "    return to", "rch.soft", "max(x, -1)\n"]), globals())


class ModelNew(nn.Module):
    def forward(self, x):
        return run(x)  # noqa: F821
