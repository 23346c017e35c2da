# task: ew_gelu_tanh
# expect: pass
# id: R19
# source: dispatch macros need the full headers
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

template <typename scalar_t>
__global__ void gelu_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = static_cast<float>(x[i]);
    float u = 1.5957691216057308f * (v + 0.044715f * v * v * v);
    y[i] = static_cast<scalar_t>(v / (1.0f + expf(-u)));
}

torch::Tensor gelu_forward(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda(), "x must be on the device");
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    auto stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "gelu_forward", [&] {
        gelu_kernel<scalar_t><<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}
"""
module = load_inline(
    name="gelu_templated", cpp_sources=["torch::Tensor gelu_forward(torch::Tensor x);"], cuda_sources=[SOURCE],
    functions=["gelu_forward"], extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.gelu_forward(x.contiguous())
