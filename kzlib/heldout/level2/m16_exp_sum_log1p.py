"""Exponential, sum over channels, log of one plus it."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, CHANNELS, LENGTH = 4 * SCALE, 15, 58 * SCALE


class Model(nn.Module):
    def forward(self, x):
        return torch.log1p(torch.sum(torch.exp(x), dim=1))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return []
