import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.linspace(0.5, 2.0, 9))

    def forward(self, x):
        return torch.atan(x * self.table)


def get_inputs():
    return [torch.randn(15, 9)]


def get_init_inputs():
    return []
