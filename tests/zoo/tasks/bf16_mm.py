import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(20, 96, dtype=torch.bfloat16), torch.randn(96, 24, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
