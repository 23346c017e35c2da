# task: sp_maxpool2
# expect: pass
# id: plain
# source: pooling
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void pool(const float* x, float* y, int H, int W, int OH, int OW, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int ow = i % OW, oh = (i / OW) % OH, p = i / (OW * OH);
    const float* q = x + (p * H + 2 * oh) * W + 2 * ow;
    y[i] = fmaxf(fmaxf(q[0], q[1]), fmaxf(q[W], q[W + 1]));
}
torch::Tensor run(torch::Tensor x) {
    int H = x.size(2), W = x.size(3);
    auto y = torch::empty({x.size(0), x.size(1), H / 2, W / 2}, x.options());
    int n = y.numel();
    pool<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), H, W, H / 2, W / 2, n);
    return y;
}
"""
ext = load_inline(name="pool2", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x.contiguous())
