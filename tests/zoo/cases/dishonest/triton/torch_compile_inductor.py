# task: ew_swish_chain
# expect: library_only|cheat|runtime_fail|unsupported
# id: C4
# source: CUDA Agent
# needs: gpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.run = torch.compile(lambda x: torch.tanh(torch.nn.functional.silu(x)) + x)

    def forward(self, x):
        return self.run(x)
