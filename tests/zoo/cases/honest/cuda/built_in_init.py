# task: ew_softsign
# expect: pass
# id: R28, R24
# source: built in the constructor
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ext = load_inline(
            name="softsign_ext",
            cpp_sources="torch::Tensor softsign(torch::Tensor x);",
            cuda_sources="""
#include <torch/extension.h>
__global__ void k(const float* x, float* y, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + fabsf(x[i]));
}
torch::Tensor softsign(torch::Tensor x) {
    auto in = x.contiguous();
    auto y = torch::empty_like(in);
    k<<<(in.numel() + 255) / 256, 256>>>(in.data_ptr<float>(), y.data_ptr<float>(), in.numel());
    return y;
}
""",
            functions=["softsign"],
            with_cuda=True,
        )

    def forward(self, x):
        return self.ext.softsign(x)
