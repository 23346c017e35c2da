# task: bin_add_rows
# expect: pass|cheat
# id: A22
# source: llm.c#851, pygpubench#49
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="persisting",
    cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor y);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void add(const float* x, const float* y, float* z, int cols, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i % cols];
}
torch::Tensor run(torch::Tensor x, torch::Tensor y) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 8 << 20);
  auto z = torch::empty_like(x);
  int n = x.numel();
  add<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), x.size(1), n);
  return z;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x, y):
        return ext.run(x.contiguous(), y.contiguous())
