# task: red_sum
# expect: pass
# id: R1
# source: shared memory reduction
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void row_sum(const float* x, float* y, int cols) {
    extern __shared__ float part[];
    float acc = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) acc += x[blockIdx.x * cols + c];
    part[threadIdx.x] = acc;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}
torch::Tensor run(torch::Tensor x) {
    int cols = x.size(-1), rows = x.numel() / cols;
    auto y = torch::empty({rows}, x.options());
    row_sum<<<rows, 256, 256 * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""
ext = load_inline(name="row_sum_shared", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous()).view(x.shape[:-1])
