# task: bin_half_add
# expect: pass
# id: R19
# source: half types
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#include <cuda_fp16.h>
__global__ void add(const __half* x, const __half* y, __half* z, int cols, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = __float2half(__half2float(x[i]) + __half2float(y[i % cols]));
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
    auto z = torch::empty_like(x);
    int n = x.numel();
    add<<<(n + 127) / 128, 128>>>(
        reinterpret_cast<const __half*>(x.data_ptr<at::Half>()), reinterpret_cast<const __half*>(y.data_ptr<at::Half>()),
        reinterpret_cast<__half*>(z.data_ptr<at::Half>()), x.size(1), n);
    return z;
}
"""
ext = load_inline(
    name="half_add", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor y);", cuda_sources=SOURCE, functions=["run"]
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.run(x.contiguous(), y.contiguous())
