"""Pick columns of every row by index."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
ROWS, COLUMNS, PICKED = 33 * SCALE, 80 * SCALE, 25 * SCALE


class Model(nn.Module):
    def forward(self, x, index):
        return torch.gather(x, 1, index)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randint(0, COLUMNS, (ROWS, PICKED))]


def get_init_inputs():
    return []
