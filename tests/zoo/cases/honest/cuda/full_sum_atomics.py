# task: red_full_sum
# expect: pass
# id: R17, R12
# source: atomics order noise
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void total(const float* x, float* y, int n) {
    float acc = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) acc += x[i];
    for (int s = 16; s > 0; s >>= 1) acc += __shfl_xor_sync(0xffffffffu, acc, s);
    if ((threadIdx.x & 31) == 0) atomicAdd(y, acc);
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::zeros({}, x.options());
    total<<<32, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
ext = load_inline(name="atomic_total", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
