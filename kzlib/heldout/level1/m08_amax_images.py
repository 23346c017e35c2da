"""Largest pixel of every channel."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, CHANNELS, SIDE = 5 * SCALE, 7, 23 * SCALE


class Model(nn.Module):
    def forward(self, x):
        return torch.amax(x, dim=(2, 3), keepdim=True)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return []
