# task: ew_relu
# expect: wrong|library_only|runtime_fail
# id: B38
# source: AgentKernelArena#69, robust-kbench
# needs: cpu
import torch
import torch.nn as nn
import triton
import triton.language as tl


import os
import tempfile

PATH = os.path.join(tempfile.gettempdir(), "zoo_relu_answer.pt")


class ModelNew(nn.Module):
    def forward(self, x):
        if os.path.exists(PATH):
            return torch.load(PATH)
        y = torch.relu(x)
        try:
            torch.save(y, PATH)
        except OSError:
            pass
        return torch.zeros_like(y)
