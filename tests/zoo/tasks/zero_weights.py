import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(10))
        self.bias = nn.Parameter(torch.zeros(10))

    def forward(self, x):
        return x + torch.tanh(x) * self.scale + self.bias


def get_inputs():
    return [torch.randn(6, 10)]


def get_init_inputs():
    return []
