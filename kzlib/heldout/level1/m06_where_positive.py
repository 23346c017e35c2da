"""Take x where a third tensor is positive, else y."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
LENGTH = 5003 * SCALE * SCALE


class Model(nn.Module):
    def forward(self, condition, x, y):
        return torch.where(condition > 0, x, y)


def get_inputs():
    return [torch.randn(LENGTH), torch.randn(LENGTH), torch.randn(LENGTH)]


def get_init_inputs():
    return []
