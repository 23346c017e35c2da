# task: ew_exp
# expect: wrong|cheat|pass
# id: B26
# source: robust-kbench compiles so itself
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="fast_exp",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void k(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]);
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  k<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
""",
    functions=["run"],
    extra_cuda_cflags=["--use_fast_math"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
