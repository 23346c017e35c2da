# task: scan_cumsum
# expect: pass
# id: R1
# source: sequential scan
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void scan(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    double acc = 0.0;
    for (int c = 0; c < cols; ++c) { acc += x[r * cols + c]; y[r * cols + c] = (float)acc; }
}
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    scan<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""
ext = load_inline(name="scan_ext", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
