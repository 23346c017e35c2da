import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(-x * x), x[x.shape[0] :] * 2


def get_inputs():
    return [torch.randn(6, 20)]


def get_init_inputs():
    return []
