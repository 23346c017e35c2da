import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x.amin(-1)


def get_inputs():
    return [torch.randn(4, 3, 2, 20)]


def get_init_inputs():
    return []
