# task: conv_bn_relu
# expect: pass
# id: plain, R4
# source: P06: one op own, rest library
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void scale_relu(float* x, const float* s, int C, int S, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fmaxf(x[i] * s[(i / S) % C], 0.f);
}
torch::Tensor run(torch::Tensor x, torch::Tensor s) {
    int n = x.numel();
    scale_relu<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), s.data_ptr<float>(), x.size(1), x.size(2) * x.size(3), n);
    return x;
}
"""
ext = load_inline(
    name="scale_relu", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor s);", cuda_sources=SOURCE, functions=["run"]
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 5, 3, padding=1)
        self.scale = nn.Parameter(torch.rand(5, 1, 1) + 0.5)

    def forward(self, x):
        return ext.run(self.conv(x).contiguous(), self.scale)
