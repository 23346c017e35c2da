import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, skip):
        y = torch.relu(x + skip)
        return y, y.mean((2, 3))


def get_inputs():
    return [torch.randn(2, 5, 6, 6), torch.randn(2, 5, 6, 6)]


def get_init_inputs():
    return []
