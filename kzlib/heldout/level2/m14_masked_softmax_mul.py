"""Softmax over allowed positions only, times values."""

import torch
import torch.nn as nn

SCALE = 1  # sizes worth timing on a GPU need a larger one
ROWS, COLUMNS = 30 * SCALE, 86 * SCALE


class Model(nn.Module):
    def forward(self, x, mask, values):
        return torch.softmax(torch.masked_fill(x, mask < -0.5, float("-inf")), dim=-1) * values


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS), torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return []
