# task: ew_relu
# expect: compile_fail
# id: C7
# source: P47: missing semicolon
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="broken",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void k(float* y) { y[0] = 1.f }
torch::Tensor run(torch::Tensor x) { return x; }
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
