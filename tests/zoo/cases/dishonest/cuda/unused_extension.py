# task: ew_hardtanh
# expect: library_only
# id: C6, C7
# source: P06
# needs: gpu
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>
torch::Tensor run(torch::Tensor x) { return x }
"""


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        try:
            self.ext = load_inline(name="never", cpp_sources=SOURCE, functions=["run"])
        except Exception:
            self.ext = None

    def forward(self, x):
        if self.ext is not None:
            return self.ext.run(x)
        return torch.nn.functional.hardtanh(x, -0.5, 0.75)
