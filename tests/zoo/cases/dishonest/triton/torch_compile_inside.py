# task: ew_swish_chain
# expect: library_only|cheat|runtime_fail|compile_fail|unsupported
# id: C4
# source: CUDA Agent
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


def _chain(x):
    return torch.tanh(torch.nn.functional.silu(x)) + x


_fast = torch.compile(_chain, backend="eager")


class ModelNew(nn.Module):
    def forward(self, x):
        return _fast(x)
