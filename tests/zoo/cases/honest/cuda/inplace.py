# task: inplace_scale
# expect: pass
# id: R10, R9
# source: in-place tasks
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void affine(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * x[i] + 1.0f;
}
void run(torch::Tensor x) {
    int n = x.numel();
    affine<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), n);
}
"""
ext = load_inline(name="affine_inplace", cpp_sources="void run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        ext.run(x)
        return x
