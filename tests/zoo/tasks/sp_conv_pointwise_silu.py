import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 5, 1)

    def forward(self, x):
        return F.silu(self.conv(x))


def get_inputs():
    return [torch.randn(2, 8, 5, 6)]


def get_init_inputs():
    return []
