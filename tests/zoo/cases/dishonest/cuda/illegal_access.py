# task: ew_relu
# expect: runtime_fail
# id: D14, P17
# source: KernelBench#76
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="illegal",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void k(float* y) { y[(1ull << 40) + threadIdx.x] = 1.f; }
torch::Tensor run(torch::Tensor x) {
  auto y = torch::zeros_like(x);
  k<<<1, 32>>>(y.data_ptr<float>());
  return y;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
