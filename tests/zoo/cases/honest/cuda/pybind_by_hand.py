# task: ew_hardtanh
# expect: pass
# id: R28
# source: own PYBIND11_MODULE
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

import os

SOURCE = """
#include <torch/extension.h>
__global__ void clip(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fminf(fmaxf(x[i], -0.5f), 0.75f);
}
torch::Tensor clip_forward(const torch::Tensor& x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    clip<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &clip_forward, "clips");
}
"""
os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
ext = load_inline(name="clip_ext", cpp_sources="", cuda_sources=SOURCE)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.forward(x.contiguous())
