import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, 1, keepdim=True)


def get_inputs():
    return [3 * torch.randn(9, 26)]


def get_init_inputs():
    return []
