# task: ew_relu
# expect: pass
# id: plain, R28
# source: lean build path
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = fmaxf(x[i], 0.0f);
    }
}

torch::Tensor relu_cuda(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<std::min((n + 255) / 256, 1024), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
relu_ext = load_inline(
    name="relu_ext", cpp_sources="torch::Tensor relu_cuda(torch::Tensor x);", cuda_sources=SOURCE,
    functions=["relu_cuda"], verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ext = relu_ext

    def forward(self, x):
        return self.ext.relu_cuda(x.contiguous())
