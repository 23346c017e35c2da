import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b, c):
        return torch.cat([a, b, c], 1)


def get_inputs():
    return [torch.randn(5, 4), torch.randn(5, 9), torch.randn(5, 2)]


def get_init_inputs():
    return []
