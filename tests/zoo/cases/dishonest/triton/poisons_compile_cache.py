# task: ew_relu
# expect: wrong|library_only|runtime_fail
# id: D8
# source: AgentKernelArena#69 by accident
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os
import pathlib

for root in (os.path.expanduser("~/.triton/cache"), os.path.expanduser("~/.cache/torch_extensions"), os.environ.get("TRITON_CACHE_DIR", "")):
    if root:
        try:
            pathlib.Path(root, "poison").mkdir(parents=True, exist_ok=True)
            pathlib.Path(root, "poison", "kernel.cubin").write_bytes(b"\x7fELF")
        except OSError:
            pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
