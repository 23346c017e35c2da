import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = fmaxf(x[i] * @SCALE@f, 0.0f);  // number @NUMBER@
}

torch::Tensor scaled_relu(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
    auto y = torch::empty_like(x);
    int n = x.numel();
    relu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
"""
module = load_inline(
    name="scaled_relu",
    cpp_sources="torch::Tensor scaled_relu(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["scaled_relu"],
)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.scaled_relu(x.contiguous())
