# task: red_amax
# expect: pass
# id: R1
# source: warp shuffles
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void row_max(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float best = -INFINITY;
    for (int c = threadIdx.x % 32; c < cols; c += 32) best = fmaxf(best, x[row * cols + c]);
    for (int s = 16; s > 0; s >>= 1) best = fmaxf(best, __shfl_down_sync(0xffffffff, best, s));
    if (threadIdx.x % 32 == 0) y[row] = best;
}
torch::Tensor run(torch::Tensor x) {
    int cols = x.size(-1), rows = x.numel() / cols;
    auto y = torch::empty({rows}, x.options());
    row_max<<<(rows + 3) / 4, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
    return y;
}
"""
ext = load_inline(name="row_max", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous()).reshape(x.shape[:-1])
