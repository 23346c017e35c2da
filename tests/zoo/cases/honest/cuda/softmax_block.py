# task: softmax_block
# expect: pass
# id: R1
# source: plain
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__device__ float warp_max(float v) { for (int s = 16; s; s >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, s)); return v; }
__device__ float warp_sum(float v) { for (int s = 16; s; s >>= 1) v += __shfl_xor_sync(~0u, v, s); return v; }
__global__ void softmax(const float* x, float* y, int cols) {
    const float* row = x + (long)blockIdx.x * cols;
    float m = -INFINITY, s = 0.f;
    for (int c = threadIdx.x; c < cols; c += 32) m = fmaxf(m, row[c]);
    m = warp_max(m);
    for (int c = threadIdx.x; c < cols; c += 32) s += expf(row[c] - m);
    s = warp_sum(s);
    for (int c = threadIdx.x; c < cols; c += 32) y[(long)blockIdx.x * cols + c] = expf(row[c] - m) / s;
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int cols = x.size(-1);
    softmax<<<x.numel() / cols, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
    return y;
}
"""
ext = load_inline(name="softmax_warp", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
