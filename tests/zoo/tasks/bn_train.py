import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return self.bn(x)


def get_inputs():
    return [torch.randn(6, 4, 5, 3) * 2 + 1]


def get_init_inputs():
    return []
