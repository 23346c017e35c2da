import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b, d):
        return torch.addmm(d, a, b)


def get_inputs():
    return [torch.randn(17, 23), torch.randn(23, 29), torch.randn(17, 29)]


def get_init_inputs():
    return []
