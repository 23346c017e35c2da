import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x.amax(1, keepdim=True)


def get_inputs():
    return [torch.randn(4, 15, 33)]


def get_init_inputs():
    return []
