# task: mat_linear
# expect: pass
# id: R4
# source: weights of the module
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void linear(const float* x, const float* w, const float* b, float* y, int M, int N, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * N) return;
    int m = i / N, n = i % N;
    float acc = b[n];
    for (int k = 0; k < K; ++k) acc = fmaf(x[m * K + k], w[n * K + k], acc);
    y[i] = acc;
}
torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    int M = x.size(0), K = x.size(1), N = w.size(0);
    auto y = torch::empty({M, N}, x.options());
    linear<<<(M * N + 127) / 128, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(), y.data_ptr<float>(), M, N, K);
    return y;
}
"""
ext = load_inline(
    name="linear_bias", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor w, torch::Tensor b);",
    cuda_sources=SOURCE, functions=["run"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(30, 22)

    def forward(self, x):
        return ext.run(x.contiguous(), self.fc.weight, self.fc.bias)
