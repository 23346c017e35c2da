import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        x[:, :8] = torch.relu(x[:, :8])
        return x * 3


def get_inputs():
    return [torch.randn(5, 24)]


def get_init_inputs():
    return []
