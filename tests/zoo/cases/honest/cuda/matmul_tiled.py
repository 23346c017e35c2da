# task: mat_mm
# expect: pass
# id: R1, R2
# source: exact float32 tiles
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
#define T 16
__global__ void mm(const float* a, const float* b, float* c, int M, int N, int K) {
    __shared__ float as[T][T], bs[T][T];
    int m = blockIdx.y * T + threadIdx.y, n = blockIdx.x * T + threadIdx.x;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += T) {
        as[threadIdx.y][threadIdx.x] = (m < M && k0 + threadIdx.x < K) ? a[m * K + k0 + threadIdx.x] : 0.f;
        bs[threadIdx.y][threadIdx.x] = (n < N && k0 + threadIdx.y < K) ? b[(k0 + threadIdx.y) * N + n] : 0.f;
        __syncthreads();
        for (int k = 0; k < T; ++k) acc += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (m < M && n < N) c[m * N + n] = acc;
}
torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    int M = a.size(0), K = a.size(1), N = b.size(1);
    auto c = torch::empty({M, N}, a.options());
    dim3 grid((N + T - 1) / T, (M + T - 1) / T), block(T, T);
    mm<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, N, K);
    return c;
}
"""
ext = load_inline(
    name="mm_tiled", cpp_sources="torch::Tensor run(torch::Tensor a, torch::Tensor b);", cuda_sources=SOURCE, functions=["run"]
)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return ext.run(a.contiguous(), b.contiguous())
