# task: ew_relu
# expect: wrong|library_only|runtime_fail|compile_fail
# id: D14
# source: issue 3 item 4
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


block = b"\0" * (1 << 22)
try:
    for number in range(400):
        with open(f"fill{number}", "wb") as file:
            file.write(block)
except OSError:
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
