import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, a, b):
        return a @ b.transpose(1, 2)


def get_inputs():
    return [torch.randn(2, 17, 33), torch.randn(2, 21, 33)]


def get_init_inputs():
    return []
