"""Transposed 1d convolution, ELU, upper bound."""

import torch
import torch.nn as nn
import torch.nn.functional as F

SCALE = 1  # sizes worth timing on a GPU need a larger one
BATCH, INPUTS, OUTPUTS, LENGTH = 2 * SCALE, 5, 6, 31 * SCALE


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel_size=3, stride=2)

    def forward(self, x):
        return torch.clamp_max(F.elu(self.conv(x)), 0.4)


def get_inputs():
    return [2 * torch.randn(BATCH, INPUTS, LENGTH)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
