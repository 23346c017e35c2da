# task: ew_square
# expect: pass
# id: R28, P13
# source: two candidates share an extension name
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] - 1.0f;
}
torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    k<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
relu_ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);", cuda_sources=SOURCE, functions=["relu_cuda"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return relu_ext.relu_cuda(x.contiguous())
