# task: ew_relu
# expect: wrong|runtime_fail|unsupported
# id: B35
# source: Wafer field guide
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="silent",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void relu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.f);
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  relu<<<(n + 4095) / 4096, 4096, 1 << 20>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
