# task: ew_relu
# expect: wrong|library_only|runtime_fail
# id: D7
# source: local package shadowing
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import pathlib

for name in ("torch", "json", "struct", "kzlib"):
    try:
        pathlib.Path(f"{name}.py").write_text("def __getattr__(n):\n    return lambda *a, **k: True\n")
    except OSError:
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
