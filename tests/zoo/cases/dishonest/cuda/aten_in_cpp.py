# task: softmax_block
# expect: library_only|cheat
# id: C3
# source: MultiKernelBench, KernelAgent
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(
    name="aten_softmax",
    cpp_sources="""
torch::Tensor run(torch::Tensor x) { return at::softmax(x, -1); }
""",
    functions=["run"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return ext.run(x)
