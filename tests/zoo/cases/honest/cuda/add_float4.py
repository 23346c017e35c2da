# task: bin_add_rows
# expect: pass
# id: plain
# source: vectorised access
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void add_rows(const float* x, const float* y, float* z, int cols, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n && (cols % 4) == 0) {
        float4 a = *reinterpret_cast<const float4*>(x + i);
        float4 b = *reinterpret_cast<const float4*>(y + i % cols);
        *reinterpret_cast<float4*>(z + i) = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    } else {
        for (int k = i; k < min(i + 4, n); ++k) z[k] = x[k] + y[k % cols];
    }
}
torch::Tensor add(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel();
    add_rows<<<(n + 511) / 512, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.size(1), n);
    return z;
}
"""
ext = load_inline("add_vec", "torch::Tensor add(torch::Tensor x, torch::Tensor y);", SOURCE, functions=["add"])


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.add(x.contiguous(), y.contiguous())
