# task: red_amax
# expect: wrong|cheat
# id: B36
# source: hoomd#1953
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="racy_max",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources="""
#include <torch/extension.h>
__global__ void rows(const float* x, float* y, int cols) {
  __shared__ float best[1024];
  int t = threadIdx.x;
  float v = -INFINITY;
  for (int c = t; c < cols; c += blockDim.x) v = fmaxf(v, x[blockIdx.x * cols + c]);
  best[t] = v;
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {  // no barrier between the steps
    if (t < s) best[t] = fmaxf(best[t], best[t + s]);
  }
  if (t == 0) y[blockIdx.x] = best[0];
}
torch::Tensor run(torch::Tensor x) {
  int cols = x.size(-1), n = x.numel() / cols;
  auto y = torch::empty({n}, x.options());
  rows<<<n, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), cols);
  return y;
}
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous()).view(x.shape[:-1])
