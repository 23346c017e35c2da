"""Logarithm of the sum of exponentials of every row."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
ROWS, COLUMNS = 40 * SCALE, 222 * SCALE


class Model(nn.Module):
    def forward(self, x):
        return torch.logsumexp(x, dim=1)


def get_inputs():
    return [6 * torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
