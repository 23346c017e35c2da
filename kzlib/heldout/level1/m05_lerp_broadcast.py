"""Linear interpolation between two matrices with one weight a column."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
ROWS, COLUMNS = 52 * SCALE, 77 * SCALE


class Model(nn.Module):
    def forward(self, x, y, weight):
        return torch.lerp(x, y, weight)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS), torch.rand(COLUMNS)]


def get_init_inputs():
    return []
