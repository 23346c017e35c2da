# task: ew_relu
# expect: runtime_fail|wrong|library_only|compile_fail
# id: D14
# source: issue 3 item 4
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


class ModelNew(nn.Module):
    def forward(self, x):
        hoard = bytearray(1 << 36)
        return torch.zeros_like(x) + len(hoard)
