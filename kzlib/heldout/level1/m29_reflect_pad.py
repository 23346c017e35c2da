"""Reflect padding with four different widths."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, CHANNELS, SIDE = 2 * SCALE, 4, 22 * SCALE


class Model(nn.Module):
    def forward(self, x):
        return F.pad(x, (3, 1, 2, 4), mode="reflect")


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return []
