"""Group normalisation of images."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, CHANNELS, SIDE, GROUPS = 3 * SCALE, 12, 13 * SCALE, 4


class Model(nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE) * 2 + 0.5]


def get_init_inputs():
    return [CHANNELS, GROUPS]
