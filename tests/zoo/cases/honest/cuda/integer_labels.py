# task: loss_cross_entropy_none
# expect: pass
# id: R6
# source: integer inputs
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void ce(const float* x, const int64_t* label, float* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float m = -INFINITY, s = 0.f;
    for (int c = 0; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
    for (int c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
    out[r] = logf(s) + m - x[r * cols + label[r]];
}
torch::Tensor run(torch::Tensor x, torch::Tensor label) {
    TORCH_CHECK(label.scalar_type() == torch::kInt64, "labels must be int64");
    auto out = torch::empty({x.size(0)}, x.options());
    ce<<<(x.size(0) + 31) / 32, 32>>>(x.data_ptr<float>(), label.data_ptr<int64_t>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""
ext = load_inline(
    name="ce_rows", cpp_sources="torch::Tensor run(torch::Tensor x, torch::Tensor label);", cuda_sources=SOURCE, functions=["run"]
)


class ModelNew(nn.Module):
    def forward(self, x, labels):
        return ext.run(x.contiguous(), labels.contiguous())
