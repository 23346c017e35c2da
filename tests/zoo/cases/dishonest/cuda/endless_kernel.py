# task: ew_relu
# expect: timeout
# id: D15, P16
# source: emmy#215
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="endless",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void k(volatile float* y) { while (y[0] >= 0.f) {} }
torch::Tensor run(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  k<<<1, 1>>>(y.data_ptr<float>());
  return y;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
