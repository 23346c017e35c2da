import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return torch.topk(x, 3, dim=1).values


def get_inputs():
    return [torch.randn(7, 25)]


def get_init_inputs():
    return []
