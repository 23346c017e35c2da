import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, total, x):
        total += x.abs()
        return total.sum(1)


def get_inputs():
    return [torch.randn(7, 20), torch.randn(7, 20)]


def get_init_inputs():
    return []
