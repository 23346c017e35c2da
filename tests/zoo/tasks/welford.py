import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return x.var(1, unbiased=False)


def get_inputs():
    return [torch.randn(9, 70) * 0.01 + 5.0]


def get_init_inputs():
    return []
