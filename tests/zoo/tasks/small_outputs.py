import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return 1e-3 * torch.sin(x)


def get_inputs():
    return [torch.randn(40, 10)]


def get_init_inputs():
    return []
