import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x * x * x - 2 * x


def get_inputs():
    return [torch.randn(5, 1, 31)]


def get_init_inputs():
    return []
