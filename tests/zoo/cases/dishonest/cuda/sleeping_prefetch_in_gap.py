# task: bin_div_same
# expect: pass|cheat
# id: A24, A23
# source: kernels left behind
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="prefetch",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor y);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void div(const float* x, const float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] / y[i];
}
__global__ void later(const float* x, const float* y, float* sink, int n) {
  for (int k = 0; k < 200; ++k)
    for (int i = threadIdx.x; i < n; i += blockDim.x) if (x[i] + y[i] == 1.2345e30f) sink[0] = 1.f;
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
  static cudaStream_t side = nullptr;
  if (!side) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  auto z = torch::empty_like(x);
  int n = x.numel();
  div<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
  later<<<1, 256, 0, side>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
  return z;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.run(x.contiguous(), y.contiguous())
