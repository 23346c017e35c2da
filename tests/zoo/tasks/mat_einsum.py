import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bik,bkj->bij", a, b)


def get_inputs():
    return [torch.randn(2, 16, 40), torch.randn(2, 40, 16)]


def get_init_inputs():
    return []
