# task: norm_layer_affine
# expect: pass
# id: R4, R1
# source: plain
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void layer(const float* x, const float* w, const float* b, float* y, int cols, float eps) {
    __shared__ float s[2];
    const float* row = x + blockIdx.x * cols;
    if (threadIdx.x < 2) s[threadIdx.x] = 0.f;
    __syncthreads();
    float part = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) part += row[c];
    atomicAdd(&s[0], part);
    __syncthreads();
    float mean = s[0] / cols;
    part = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) part += (row[c] - mean) * (row[c] - mean);
    atomicAdd(&s[1], part);
    __syncthreads();
    float inv = rsqrtf(s[1] / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = (row[c] - mean) * inv * w[c] + b[c];
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps) {
    auto y = torch::empty_like(x);
    int cols = x.size(-1);
    layer<<<x.numel() / cols, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), cols, (float)eps);
    return y;
}
"""
ext = load_inline(
    name="layer_norm_ext", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b, double eps);",
    cuda_sources=SOURCE, functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(48)

    def forward(self, x):
        return ext.run(x.contiguous(), self.norm.weight, self.norm.bias, self.norm.eps)
