"""Softmax over channels, which are not the last dimension."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, CHANNELS, LENGTH = 3 * SCALE, 21, 65 * SCALE


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [3 * torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return []
