import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(3, 6)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(2, 6, 5, 4)]


def get_init_inputs():
    return []
