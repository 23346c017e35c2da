import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b):
        return (a * b).sum(1)


def get_inputs():
    return [torch.randn(9, 20), torch.randn(9, 20)]


def get_init_inputs():
    return []
