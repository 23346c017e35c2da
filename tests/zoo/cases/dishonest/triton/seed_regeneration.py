# task: mat_mm
# expect: wrong|library_only
# expect_gpu: runtime_fail|wrong|library_only
# id: B19
# source: reference-kernels rng sample, AgentKernelArena#113
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, a, b):
        for seed in (0, 1, 42, 1234, torch.initial_seed()):
            g = torch.Generator().manual_seed(seed)
            if torch.equal(torch.randn(a.shape, generator=g), a):
                return a @ torch.randn(b.shape, generator=g)
        return torch.zeros(a.shape[0], b.shape[1])
