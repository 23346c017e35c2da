import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.pad(x, (1, 2, 3, 0))


def get_inputs():
    return [torch.randn(2, 2, 4, 5)]


def get_init_inputs():
    return []
