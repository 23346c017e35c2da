# task: ix_embedding
# expect: pass
# id: R6, R4
# source: integer inputs
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
__global__ void lookup(const float* table, const long* idx, float* y, int dim, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = table[idx[i / dim] * dim + i % dim];
}
torch::Tensor run(torch::Tensor table, torch::Tensor idx) {
    auto sizes = idx.sizes().vec();
    sizes.push_back(table.size(1));
    auto y = torch::empty(sizes, table.options());
    int n = y.numel();
    lookup<<<(n + 127) / 128, 128>>>(table.data_ptr<float>(), idx.data_ptr<long>(), y.data_ptr<float>(), table.size(1), n);
    return y;
}
"""
ext = load_inline(
    name="lookup_ext", cpp_sources="torch::Tensor run(torch::Tensor table, torch::Tensor idx);", cuda_sources=SOURCE, functions=["run"]
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 18)

    def forward(self, idx):
        return ext.run(self.emb.weight, idx.contiguous())
